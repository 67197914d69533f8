import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";
import {
  createUIMessageStreamResponse,
  stepCountIs,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { beginTurn, uiMessages } from "../src/index.ts";
import { scriptedModel, scriptedTools } from "./scripted-model.ts";
import { read, textIn, user } from "./serve.ts";
import { textOf } from "./ui-client.ts";

function setUp({ delayMs = 0 } = {}) {
  const tools = scriptedTools({ deleted: [] });
  const chats = new ChatStore<UIMessage>({
    stores: createMemoryStores(),
    ...uiMessages({ tools }),
    beatMs: 50,
    leaseMs: 2_000,
  });
  const mine = chats.of("ada");
  const model = scriptedModel({ delayMs });
  const errors: unknown[] = [];
  const begin = (body: unknown) =>
    beginTurn<UIMessage>({ chats: mine, body, tools, onError: (error) => void errors.push(error) });
  /** The route handler of the documentation. */
  const answer = async (body: unknown) => {
    const turn = await begin(body);
    const result = streamText({
      model,
      tools,
      messages: turn.modelMessages,
      abortSignal: turn.signal,
      stopWhen: stepCountIs(2),
      onError: () => undefined,
    });
    const stream = turn.pipe(toUIMessageStream({ stream: result.stream, ...turn.ui }));
    return createUIMessageStreamResponse({ stream });
  };
  return { mine, model, tools, errors, begin, answer };
}

test("beginTurn: the message is stored before the model call, the answer during the stream and at its end", async () => {
  const { mine, begin, answer, errors } = setUp();
  const turn = await begin({ id: "c", message: user("q", "say hello"), mood: "calm" });
  expect((await mine.read("c"))?.entries.map(({ message }) => message)).toEqual([user("q", "say hello")]);
  expect(turn).toMatchObject({ owner: "ada", chat: { id: "c" }, body: { mood: "calm" } });
  expect(turn.messages).toEqual([user("q", "say hello")]);
  expect(turn.modelMessages).toMatchObject([{ role: "user" }]);
  await turn.run.end({ status: "failed" });

  const { chunks } = await read(await answer({ id: "c", message: user("q", "say hello") }));
  expect(textIn(chunks)).toBe("hello ");
  const page = await mine.read("c");
  expect(page?.chat.run).toBeUndefined();
  expect(page?.entries.at(-1)).toMatchObject({ status: "complete", message: { role: "assistant" } });
  expect(chunks[0]).toMatchObject({ type: "start", messageId: page?.entries.at(-1)?.message.id });
  await read(await answer({ id: "c", message: user("q2", "look up x") }));
  expect(textOf((await mine.read("c"))?.entries.at(-1)?.message)).toContain("done:");
  expect(errors).toEqual([]);
});

test("beginTurn: an answer is completed and stored after its reader disconnects", async () => {
  const { mine, answer } = setUp({ delayMs: 10 });
  const response = await answer({ id: "c", message: user("q", "say one two three four five") });
  await response.body?.cancel();
  await expect
    .poll(async () => (await mine.read("c"))?.entries.at(-1))
    .toMatchObject({ status: "complete", message: { role: "assistant" } });
  expect(textOf((await mine.read("c"))?.entries.at(-1)?.message)).toBe("one two three four five ");
});

test("beginTurn without pipe: the SDK's callbacks store steps and the end", async () => {
  const { mine, model, begin } = setUp();
  const turn = await begin({ id: "c", message: user("q", "say hello") });
  const result = streamText({ model, messages: turn.modelMessages, abortSignal: turn.signal });
  for await (const _ of toUIMessageStream({ stream: result.stream, ...turn.ui }));
  await expect
    .poll(async () => (await mine.read("c"))?.entries.at(-1))
    .toMatchObject({ status: "complete", message: { id: turn.run.messageId } });
});

test("beginTurn: stop aborts the model, and the answer so far is stored", async () => {
  const { mine, answer } = setUp({ delayMs: 10 });
  const response = await answer({ id: "c", message: user("q", `say ${"word ".repeat(500)}`) });
  const reading = response.text();
  await expect.poll(async () => (await mine.read("c"))?.entries.length).toBe(2);
  expect(await mine.stop("c")).toBe(true);
  expect(await reading).toContain('"abort"');
  expect((await mine.read("c"))?.entries.at(-1)).toMatchObject({ status: "stopped" });
});

test("beginTurn: a history that is not converted in time releases the lease", async () => {
  const { mine, begin, answer, tools } = setUp();
  await read(await answer({ id: "c", message: user("q", "look up x") }));
  const broken = {
    ...tools,
    lookUp: tool({
      inputSchema: z.object({ word: z.string() }),
      execute: async () => "x",
      toModelOutput: () => new Promise<never>(() => {}),
    }),
  };
  const body = { id: "c", message: user("q2") };
  const call = beginTurn<UIMessage>({ chats: mine, body, tools: broken, callbackMs: 50 });
  await expect(call).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect((await mine.get("c"))?.run).toBeUndefined();
  const turn = await begin(body);
  await turn.run.end({ status: "failed" });
});

test("beginTurn: invalid arguments and requests are refused before anything is stored", async () => {
  const { mine, begin } = setUp();
  const body = { id: "c", message: user("q") };
  for (const options of [undefined, {}, { chats: {}, body }, { chats: mine, body, unknown: 1 }])
    await expect(beginTurn(options as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  for (const invalid of [undefined, {}, { id: "c" }, { id: "c", message: { ...user("q"), role: "system" } }])
    await expect(begin(invalid)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(begin({ id: "c", trigger: "regenerate-message" })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  expect((await mine.list()).chats).toEqual([]);
});
