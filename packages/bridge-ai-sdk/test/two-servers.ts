import { randomUUID } from "node:crypto";
import { lastAssistantMessageIsCompleteWithApprovalResponses as sendAutomaticallyWhen } from "ai";
import { describe, expect, test } from "vitest";
import { type Backend, loaded, post, processesOn, redisUrl } from "./processes.ts";
import { until } from "./serve.ts";
import { openTab } from "./ui-client.ts";

const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");

/** Declares the tests of two servers on one backend. */
export function declareTwoServerTests(backend: Backend): void {
  describe.each(["Redis", "the stores"])(
    `two servers on ${backend}, with streams over %s`,
    {
      concurrent: true,
    },
    (streams) => {
      const start = async () => {
        const processes = await processesOn(backend, streams === "Redis" ? await redisUrl() : "");
        const [one, other] = await Promise.all([processes.start(), processes.start()]);
        return { one, other, log: processes.log };
      };
      // The tests share the servers, and each has a chat of its own.
      let starting: ReturnType<typeof start> | undefined;
      const servers = async () => {
        starting ??= start();
        return { ...(await starting), chatId: randomUUID() };
      };

      // The answer takes longer than a resume waits for a stream that is published late.
      test("a reload on the other server during an answer, and a stop from there", async () => {
        const { one, other, chatId } = await servers();
        const first = openTab(one.url, chatId);
        const sent = first.sendMessage({ text: `say ${words(120)}` });
        await until(() => first.messages.length === 2 && first.lastText.includes("w3"));
        const { messages, chat } = await loaded(other.url, chatId);
        expect(chat.run?.state).toBe("running");
        const second = openTab(other.url, chatId, { messages });
        await second.resumeStream();
        expect(second.lastText).toBe(`${words(120)} `);
        await sent;
        expect((await loaded(other.url, chatId)).messages).toEqual(first.plain);
        expect(second.plain).toEqual(first.plain);

        const long = first.sendMessage({ text: `say ${words(1_000)}` });
        await until(() => first.messages.length === 4 && first.lastText.includes("w3"));
        expect(await (await post(other.url, `/chat/${chatId}/stop`)).json()).toEqual({ stopped: true });
        await long;
        const stopped = await loaded(other.url, chatId);
        expect(stopped.chat.run).toBeUndefined();
        expect(stopped.statuses[stopped.messages.at(-1)?.id ?? ""]).toMatchObject({ status: "stopped" });
        expect(stopped.messages).toEqual(first.plain);
      });

      test("concurrent approvals on both servers: the tool runs once, and the answer can be resumed", async () => {
        const { one, other, log, chatId } = await servers();
        await openTab(one.url, chatId).sendMessage({ text: `delete ${chatId}` });
        const { messages } = await loaded(other.url, chatId);
        const tabs = [one, other].map(({ url }) => openTab(url, chatId, { messages, sendAutomaticallyWhen }));
        const waiting = messages.at(-1)?.parts.at(-1) as unknown as { approval: { id: string } };
        const { id } = waiting.approval;
        await Promise.all(tabs.map((tab) => tab.addToolApprovalResponse({ id, approved: true })));
        await until(async () => {
          const { chat, messages: now } = await loaded(other.url, chatId);
          return chat.run !== undefined || JSON.stringify(now) !== JSON.stringify(messages);
        });
        const late = openTab(other.url, chatId, { messages });
        await late.resumeStream();
        await Promise.all(tabs.map((tab) => tab.idle()));
        expect(log(chatId)).toEqual([`deleted ${chatId}`]);
        const [winner, second] = tabs.filter(({ error }) => error === undefined);
        expect(second).toBeUndefined();
        const stored = (await loaded(other.url, chatId)).messages;
        expect(stored).toEqual(winner?.plain);
        expect(late.error).toBeUndefined();
        expect(late.plain).toEqual(stored);
      });
    },
  );
}
