import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { loaded, post, processesOn, redisUrl } from "./processes.ts";
import { read, textIn, until, user } from "./serve.ts";
import { openTab, textOf } from "./ui-client.ts";

const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");
const ROUNDS = 4;

/** Waits until the run of the chat no longer counts as running, and returns the chat. */
async function settledChat(url: string, chatId: string) {
  return await until(async () => {
    const found = await loaded(url, chatId);
    return found.chat.run?.state !== "running" && found;
  });
}

// Concurrent, because each test waits for the end of a lease.
describe.each(["Redis", "the stores"])(
  "kill -9 on Redis, with streams over %s",
  { concurrent: true },
  (streams) => {
    const begin = async () => {
      const { start, log } = await processesOn("Redis", streams === "Redis" ? await redisUrl() : "");
      return { start, log, other: await start() };
    };
    // The tests share the server that lives, and each has a chat of its own.
    let beginning: ReturnType<typeof begin> | undefined;
    const servers = async () => {
      beginning ??= begin();
      const { start, log, other } = await beginning;
      return { dying: await start(), other, log, chatId: randomUUID() };
    };

    test("before the first token: the question is stored, and its retry is answered", async () => {
      const { dying, other, chatId } = await servers();
      const message = user("q", "hang");
      const response = await post(dying.url, "/chat", { id: chatId, message });
      expect(response.status).toBe(200);
      await dying.kill();
      await response.text().catch(() => undefined);
      const { chat, messages } = await settledChat(other.url, chatId);
      expect(chat.run?.state).toBe("lost");
      expect(messages).toEqual([message]);
      expect((await fetch(`${other.url}/api/chat/${chatId}/stream`)).status).toBe(204);
      const edited = { id: chatId, messageId: "q", message: user("q", "say hello") };
      const { chunks } = await read(await post(other.url, "/chat", edited));
      expect(textIn(chunks)).toBe("hello ");
      const after = await loaded(other.url, chatId);
      expect(after.messages.map(textOf)).toEqual(["say hello", "hello "]);
      expect(after.chat.run).toBeUndefined();
    });

    test("during an answer: the saved part is kept, a listener on the other server ends, and the chat continues", async () => {
      const { dying, other, chatId } = await servers();
      const first = openTab(dying.url, chatId);
      const sent = first.sendMessage({ text: `say ${words(1_000)}` });
      await until(async () => textOf((await loaded(other.url, chatId)).messages?.[1]).includes("w3"));
      const { messages } = await loaded(other.url, chatId);
      const late = openTab(other.url, chatId, { messages });
      const resumed = late.resumeStream();
      await until(() => late.status === "streaming" && late.lastText.includes("w6"));
      await dying.kill();
      await sent;
      await resumed;
      expect(late.error).toBeDefined();
      const after = await settledChat(other.url, chatId);
      const answer = after.messages.at(-1);
      expect(after.messages).toHaveLength(2);
      expect(`${words(1_000)} `.startsWith(textOf(answer))).toBe(true);
      expect(textOf(answer)).toContain("w3");
      expect(after.statuses[answer?.id ?? ""]).toMatchObject({ status: "failed" });
      expect(JSON.stringify(answer)).not.toContain("streaming");
      const next = openTab(other.url, chatId, { messages: after.messages });
      await next.sendMessage({ text: "say on" });
      expect(next.lastText).toBe("on ");
      expect((await loaded(other.url, chatId)).messages).toEqual(next.plain);
    });

    test.each(["kill", "end"])(
      "in a tool (%s): it does not run again, and is shown as one that may have run",
      async (moment) => {
        const { dying, other, log, chatId } = await servers();
        const response = await post(dying.url, "/chat", {
          id: chatId,
          message: user("q", `look up ${moment} ${chatId}`),
        }).catch(() => undefined);
        await response?.text().catch(() => undefined);
        await dying.exited;
        const after = await settledChat(other.url, chatId);
        expect(log(chatId)).toEqual([`looked up ${moment} ${chatId}`]);
        const interrupted = { state: "output-error", errorText: "Interrupted; it may have run." };
        const part = after.messages[1]?.parts.at(-1) as unknown as { state: string };
        if (moment === "kill" || part.state !== "output-available") expect(part).toMatchObject(interrupted);
        const { chunks } = await read(
          await post(other.url, "/chat", { id: chatId, message: user("q2", "say on") }),
        );
        expect(textIn(chunks)).toBe("on ");
        const { messages } = await loaded(other.url, chatId);
        expect(messages).toHaveLength(4);
        expect(messages[1]).toEqual(after.messages[1]);
        expect(log(chatId)).toEqual([`looked up ${moment} ${chatId}`]);
      },
    );

    test("at the end, and at any moment: acknowledged parts are stored, and no word is stored twice", async () => {
      const whole = `${words(12)} `;
      const killIn = async (round: number) => {
        const { dying, other, chatId } = await servers();
        const response = await post(dying.url, "/chat", {
          id: chatId,
          message: user("q", `say ${words(12)}`),
        });
        let isWhole = false;
        const reading = response.text().then(
          () => {
            isWhole = true;
          },
          () => undefined,
        );
        // The last round kills the server after the complete answer was acknowledged.
        if (round === ROUNDS - 1) await reading;
        else await sleep(Math.random() * 600);
        await dying.kill();
        await reading;
        const { messages, statuses } = await settledChat(other.url, chatId);
        expect(messages[0]).toEqual(user("q", `say ${words(12)}`));
        const answer = messages[1];
        expect(whole.startsWith(textOf(answer))).toBe(true);
        if (isWhole) expect(statuses[answer?.id ?? ""]).toMatchObject({ status: "complete" });
        if (answer && statuses[answer.id]?.status === "complete") expect(textOf(answer)).toBe(whole);
      };
      await Promise.all(Array.from({ length: ROUNDS }, (_, round) => killIn(round)));
    });
  },
);
