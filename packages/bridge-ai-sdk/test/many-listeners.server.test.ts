import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { loaded, post, processesOn, redisUrl } from "./processes.ts";
import { read, textIn, until, user } from "./serve.ts";
import { textOf } from "./ui-client.ts";

const LISTENERS = 600;
const words = Array.from({ length: 400 }, (_, index) => `w${index}`).join(" ");

test.each(["Redis", "the stores"])(
  "600 listeners on another server, with streams over %s, start within 5 s on a busy machine, and each gets the whole answer",
  async (streams) => {
    const { start } = await processesOn("Redis", streams === "Redis" ? await redisUrl() : "");
    const [one, other] = await Promise.all([start(), start()]);
    const chatId = randomUUID();
    const response = await post(one.url, "/chat", { id: chatId, message: user("q", `say ${words}`) });
    const answered = response.text();
    await until(async () => textOf((await loaded(other.url, chatId)).messages?.[1]).includes("w3"));
    const begun = performance.now();
    let startMs = 0;
    const listen = async () => {
      const late = await fetch(`${other.url}/api/chat/${chatId}/stream`);
      startMs = Math.max(startMs, performance.now() - begun);
      return textIn((await read(late)).chunks);
    };
    const texts = await Promise.all(Array.from({ length: LISTENERS }, listen));
    await answered;
    expect(new Set(texts)).toEqual(new Set([`${words} `]));
    expect(startMs).toBeLessThan(5_000);
    if (process.env.SCROLLBACK_DELAYS === "1")
      console.log(`${streams}: the last of ${LISTENERS} listeners started after ${Math.round(startMs)} ms`);
  },
);
