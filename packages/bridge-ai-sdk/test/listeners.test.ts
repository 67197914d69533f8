import type { OwnedChats } from "@scrollback/chats";
import type { UIMessage, UIMessageChunk } from "ai";
import { afterEach, expect, test, vi } from "vitest";
import { answerResponse } from "../src/http/responses.ts";
import { resumedAnswer, stopAnswer } from "../src/http/running-answers.ts";
import { inProcessStreams } from "../src/index.ts";
import { containedStream } from "../src/streams/contained-stream.ts";
import { until } from "./serve.ts";

afterEach(() => void vi.useRealTimers());

/** A running answer of one-byte characters; `listen` returns a function that reads the next text. */
async function published(streams: ReturnType<typeof inProcessStreams>, runId: string) {
  const { readable, writable } = new TransformStream<string, string>();
  streams.publish(runId, readable);
  const writer = writable.getWriter();
  const listen = async () => (await until(() => streams.resume(runId))).getReader();
  return { listen, write: (text: string) => writer.write(text), end: () => writer.close() };
}

async function restOf(reader: ReadableStreamDefaultReader<string>): Promise<string> {
  let text = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  return text;
}

test("a listener that does not read takes no memory, and gets an error if its part of the answer was dropped", async () => {
  const streams = inProcessStreams({ maxBytes: 100 });
  const { listen, write, end } = await published(streams, "r");
  await write("a".repeat(40));
  const [stuck, quick] = [await listen(), await listen()];
  expect((await quick.read()).value).toBe("a".repeat(40));
  await write("b".repeat(40));
  expect((await quick.read()).value).toBe("b".repeat(40));
  expect(await streams.resume("r")).toBeUndefined();
  await write("c".repeat(40));
  await end();
  expect(await restOf(quick)).toBe("c".repeat(40));
  expect(await restOf(stuck)).toMatch(/^data: .*"type":"error".*\[DONE\]\n\n$/s);
});

test("an ended answer that is still read keeps its memory only as long as no running answer needs it", async () => {
  const streams = inProcessStreams({ maxBytes: 100 });
  const first = await published(streams, "first");
  await first.write("a".repeat(40));
  const [slow, left] = [await first.listen(), await first.listen()];
  await first.end();
  await left.cancel();
  const second = await published(streams, "second");
  await second.write("b".repeat(20));
  const whole = await second.listen();
  await second.end();
  expect(await restOf(whole)).toBe("b".repeat(20));
  expect(await restOf(slow)).toContain('"type":"error"');
});

test("a listener reads on from an answer that has ended, and memory is free again when it has read it", async () => {
  const streams = inProcessStreams({ maxBytes: 100 });
  for (let round = 0; round < 3; round++) {
    const answer = await published(streams, `r${round}`);
    await answer.write("a".repeat(20));
    await answer.write("b".repeat(20));
    const listener = await answer.listen();
    await answer.end();
    expect(await restOf(listener)).toBe("a".repeat(20) + "b".repeat(20));
  }
});

test("a client that leaves more than 16 MiB of its answer unread is disconnected; one that reads gets all of it", async () => {
  const megabyte = "x".repeat(1_024 * 1_024);
  const delta: UIMessageChunk = { type: "text-delta", id: "t", delta: megabyte };
  let isCancelled = false;
  async function* chunks() {
    try {
      for (let index = 0; index < 20; index++) yield delta;
    } finally {
      isCancelled = true;
    }
  }
  const text = await answerResponse(ReadableStream.from(chunks()), {}).text();
  expect(text.match(/text-delta/g)).toHaveLength(20);
  isCancelled = false;
  const slow = answerResponse(ReadableStream.from(chunks()), {});
  await until(() => isCancelled);
  await expect(slow.text()).rejects.toThrow();
});

/** Chats with a run that never ends. `startedAt` may be of a wrong clock. */
function endless(startedAt = 0) {
  let reads = 0;
  const run = { id: "r", messageId: "a", startedAt, state: "running" };
  const chats = {
    stop: async () => true,
    get: async () => ({ run: ++reads && run }),
    read: async () => ({ chat: { run: ++reads && run }, entries: [] }),
  };
  return { chats: chats as unknown as OwnedChats<UIMessage>, reads: () => reads };
}

test("stop of a run that does not end returns after 20 s, with few reads", async () => {
  vi.useFakeTimers();
  const { chats, reads } = endless();
  let isStopped: boolean | undefined;
  void stopAnswer(chats, "c", "r", inProcessStreams()).then((result) => {
    isStopped = result;
  });
  await vi.advanceTimersByTimeAsync(25_000);
  expect(isStopped).toBe(false);
  expect(reads()).toBeLessThan(30);
});

test("a resume ends after 10 s, although the clock of the server that makes the answer is an hour ahead", async () => {
  vi.useFakeTimers();
  let status: number | undefined;
  void resumedAnswer(endless(Date.now() + 3_600_000).chats, "c", inProcessStreams()).then((response) => {
    status = response.status;
  });
  await vi.advanceTimersByTimeAsync(11_000);
  expect(status).toBe(204);
});

test("the reason of an abort is not sent: it is the text of an error", async () => {
  const source = ReadableStream.from<UIMessageChunk>([
    { type: "start" },
    { type: "abort", reason: "secret: postgres://user:password@host" },
  ]);
  const seen: UIMessageChunk[] = [];
  const stream = containedStream(source, {
    run: { messageId: "a", signal: new AbortController().signal },
    see: async (chunk) => void seen.push(chunk),
    onError: () => undefined,
    end: async () => true,
  });
  const sent: UIMessageChunk[] = [];
  for await (const chunk of stream) sent.push(chunk);
  expect(sent).toEqual([{ type: "start", messageId: "a" }, { type: "abort" }]);
  expect(seen).toEqual(sent);
});
