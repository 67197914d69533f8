import { setTimeout as sleep } from "node:timers/promises";
import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";
import { type FlexibleSchema, jsonSchema, type ToolSet, tool, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ChatHandlerOptions, createChatHandler, inProcessStreams, uiMessages } from "../src/index.ts";
import { scriptedModel } from "./scripted-model.ts";
import { user } from "./serve.ts";

type Options = ChatHandlerOptions<UIMessage>;
type Failure = () => never;

/** Each way in which a callback fails. */
const failures = {
  throws() {
    throw new Error("boom");
  },
  async "rejects late"() {
    await sleep(1);
    throw new Error("boom");
  },
  hangs: () => new Promise(() => undefined),
} as Record<"throws" | "rejects late" | "hangs", Failure>;

const schema = (validate: Failure) => jsonSchema({}, { validate }) as FlexibleSchema;
const failingStreams = (name: "publish" | "resume" | "stop" | "onStop", fail: Failure) => ({
  streams: { ...inProcessStreams(), [name]: fail },
});
const failingTool = (fields: object): { tools: ToolSet } => ({
  tools: { lookUp: tool({ inputSchema: jsonSchema({ type: "object" }), ...fields } as never) },
});
const failingModel = (name: "doStream" | "doGenerate", fail: Failure) => {
  const model = new MockLanguageModelV4({ [name]: fail });
  return name === "doStream" ? { model } : { title: { model } };
};

type Setting = Partial<Omit<Options, "chats">>;
type NotCalled =
  | "chats"
  | "instructions"
  | "allowImport"
  | "maxMessageBytes"
  | "callbackMs"
  | "fileTypes"
  | "whileRunning"
  | "keepSiblings"
  | "onStale";

/** By option: the callbacks in it. A new option does not compile without an entry. */
const callbacks: Record<Exclude<keyof Options, NotCalled>, Record<string, (fail: Failure) => Setting>> = {
  onError: { "": (onError) => ({ onError, ...failingModel("doStream", failures.throws) }) },
  generateMessageId: { "": (generateMessageId) => ({ generateMessageId }) },
  title: { "": (title) => ({ title }), ".model": (fail) => failingModel("doGenerate", fail) },
  stream: {
    ".messageMetadata": (messageMetadata) => ({ stream: { messageMetadata } }),
    ".onError": (onError) => ({ stream: { onError }, ...failingModel("doStream", failures.throws) }),
  },
  streams: {
    ".publish": (fail) => failingStreams("publish", fail),
    ".resume": (fail) => failingStreams("resume", fail),
    ".stop": (fail) => failingStreams("stop", fail),
    ".onStop": (fail) => failingStreams("onStop", fail),
  },
  metadataSchema: { "": (fail) => ({ metadataSchema: schema(fail) }) },
  dataSchemas: { ".mood": (fail) => ({ dataSchemas: { mood: schema(fail) } }) },
  tools: {
    ".execute": (execute) => failingTool({ execute }),
    ".toModelOutput": (toModelOutput) => failingTool({ execute: () => "found", toModelOutput }),
  },
  model: { "": (fail) => failingModel("doStream", fail) },
  agent: { "": (stream) => ({ agent: { tools: {}, stream } }) },
  generate: { "": (generate) => ({ generate }) },
  reducer: { "": (reduce) => ({ reducer: { reduce } }) },
};

const rows = Object.entries(callbacks).flatMap(([option, members]) =>
  Object.entries(members).flatMap(([member, setting]) =>
    Object.entries(failures).map(
      ([failure, fail]) => [`${option}${member}`, failure, setting(fail)] as const,
    ),
  ),
);

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** The result of a promise, within 40 s of virtual time. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const done = () => {
    isSettled = true;
  };
  promise.then(done, done);
  for (let tenths = 0; !isSettled; tenths++) {
    if (tenths > 400) throw new Error("hangs");
    await vi.advanceTimersByTimeAsync(100);
    await sleep(1);
  }
  return await promise;
}

function setUp(options: Setting) {
  const errors: unknown[] = [];
  const { tools } = options;
  const chats = new ChatStore<UIMessage>({
    stores: createMemoryStores(),
    ...uiMessages(tools ? { tools } : {}),
    beatMs: 50,
    leaseMs: 20_000,
  });
  const isMade = options.model ?? options.agent ?? options.generate;
  const handler = createChatHandler<UIMessage>({
    chats,
    onError: (error) => void errors.push(error),
    ...(!isMade && { model: scriptedModel() }),
    ...options,
  });
  const fetch = (path: string, body?: unknown) =>
    handler.fetch(
      new Request(
        `http://a/api/${path}`,
        body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
      ),
      { owner: "ada" },
    );
  return { chats, mine: chats.of("ada"), handler, errors, fetch };
}

test.each(rows)("%s that %s locks no chat and hangs nothing", async (name, _failure, options) => {
  const { chats, mine, handler, errors, fetch } = setUp(options);
  const isSchema = name.includes("Schema");
  const message: UIMessage = isSchema
    ? { ...user("q"), metadata: { at: 1 }, parts: [{ type: "data-mood", data: "calm" }] }
    : user("q", "look up x");
  const post = async (body: object) => {
    const response = await fetch("chat", { id: "c", ...body });
    await response.text();
    return response.status;
  };
  const answered = post({ message });
  await sleep(10);
  await settled(fetch("chat/c/stream").then(async (response) => await response.body?.cancel()));
  const isWork = /^(model|agent|generate|reducer|tools)/.test(name);
  /** The functions that make the answer may take any time. So they are stopped. */
  const ended = async (answer: Promise<number>) => {
    await sleep(10);
    if (isWork || name === "streams.stop") await settled(fetch("chat/c/stop", {}));
    return await settled(answer);
  };
  const status = await ended(answered);
  expect((await mine.get("c"))?.run).toBeUndefined();
  if (isSchema) {
    // Messages are never stored unchecked.
    expect(await mine.get("c")).toBeUndefined();
    expect([400, 500]).toContain(status);
    expect(errors).toHaveLength(status === 500 ? 1 : 0);
  } else {
    expect(status).toBe(200);
    const parentId = (await mine.get("c"))?.lastMessage?.id;
    expect(await ended(post({ message: user("q2"), parentId }))).toBe(200);
  }
  await settled(handler.close());
  await settled(chats.flush());
  const isReported = /^(generateMessageId|title|stream\.|streams\.(publish|onStop))/.test(name);
  if (isReported) expect(errors).not.toEqual([]);
});

test("times that timers do not take are refused", () => {
  const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages() });
  const refused = expect.objectContaining({ code: "INVALID_ARGUMENT" });
  for (const callbackMs of [0, 1.5, 2 ** 31])
    expect(() => createChatHandler({ chats, model: "a", callbackMs })).toThrow(refused);
  for (const beatMs of [0, 2 ** 31])
    expect(() => new ChatStore({ stores: createMemoryStores(), ...uiMessages(), beatMs })).toThrow(refused);
});
