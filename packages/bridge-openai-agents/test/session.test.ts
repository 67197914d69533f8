import { type AgentInputItem, MemorySession, type SessionHistoryTransactionArgs } from "@openai/agents-core";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { ScrollbackSession } from "../src/index.ts";
import { assistant, call, result, user } from "./items.ts";
import { declareSessionTests } from "./session-tests.ts";
import { tellStory } from "./story.ts";

const memoryDriver = new MemoryDriver();
declareSessionTests("memory", async () => createStores(memoryDriver));

type Step = (session: MemorySession | ScrollbackSession) => Promise<unknown>;

async function outcomeOf(session: MemorySession | ScrollbackSession, one: Step): Promise<unknown> {
  try {
    return { value: await one(session) };
  } catch (error) {
    return { name: (error as Error).name, message: (error as Error).message };
  }
}

test("transactions are read once, compared by structure, and refused if MemorySession refuses them", async () => {
  const append = (providerData: Record<string, unknown>) =>
    ({
      type: "append_items",
      items: [{ ...user("a"), providerData }],
    }) as SessionHistoryTransactionArgs["transaction"];
  const hostile = { type: "append_items" };
  Object.defineProperty(hostile, "items", { enumerable: true, get: () => [user("a")] });
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const cases: [
    SessionHistoryTransactionArgs["transaction"],
    SessionHistoryTransactionArgs["transaction"],
  ][] = [
    [append({ a: 1, b: 2 }), append({ b: 2, a: 1 })],
    [append({ a: 0 }), append({ a: -0 })],
    [append({ a: Number.NaN }), append({ a: Number.NaN })],
    [append({ a: undefined }), append({})],
    [append({ a: "1" }), append({ a: 1 })],
    [append({ a: ["x"] }), append({ a: "x" })],
    [append({ a: new Uint8Array([1]) }), append({ a: new Uint8Array([1]) })],
    [append({ a: new Uint8Array([1]) }), append({ a: "AQ==" })],
    [append({ a: new Date(0) }), append({})],
    [append({ a: () => 1 }), append({})],
    [append(cyclic), append({})],
    [hostile as SessionHistoryTransactionArgs["transaction"], append({})],
  ];
  for (const [first, second] of cases) {
    const theirs = new MemorySession();
    const ours = new ScrollbackSession({ stores: createMemoryStores() });
    for (const transaction of [first, second]) {
      let reads = 0;
      const args = {
        operationId: "o",
        get transaction() {
          reads++;
          return transaction;
        },
      };
      const apply: Step = (session) => session.applyHistoryTransaction(args);
      const outcome = await outcomeOf(ours, apply);
      expect(reads).toBe(1);
      expect(outcome).toEqual(await outcomeOf(theirs, apply));
      expect(await ours.getItems()).toEqual(await theirs.getItems());
    }
  }
});

test("unreadable arguments are refused as by MemorySession", async () => {
  const throwing = Object.defineProperty({ operationId: "o" }, "transaction", {
    get() {
      throw new Error("secret");
    },
  });
  for (const args of [null, undefined, throwing, {}, { operationId: "o" }] as never[]) {
    const apply: Step = (session) => session.applyHistoryTransaction(args);
    const ours = new ScrollbackSession({ stores: createMemoryStores() });
    const outcome = await outcomeOf(ours, apply);
    expect(outcome).toMatchObject({ message: expect.stringMatching(/^Session history transaction/) });
    expect(outcome).toEqual(await outcomeOf(new MemorySession(), apply));
  }
});

test("changes of the arguments after a call have no effect", async () => {
  const session = new ScrollbackSession({ stores: createMemoryStores() });
  const items: AgentInputItem[] = [call("1")];
  const args: SessionHistoryTransactionArgs = {
    operationId: "o",
    transaction: { type: "append_items", items },
  };
  const applying = session.applyHistoryTransaction(args);
  items.push(user("late"));
  args.operationId = "p";
  await applying;
  const mutation = {
    type: "replace_function_call" as const,
    callId: "1",
    replacement: call("1", '{"to":"x"}'),
  };
  const mutating = session.applyHistoryMutations({ mutations: [mutation] });
  mutation.replacement = call("1", "late");
  await mutating;
  const [read] = await session.getItems();
  expect(read).toEqual(call("1", '{"to":"x"}'));
  Object.assign(read ?? {}, { name: "late" });
  expect(await session.getItems()).toEqual([call("1", '{"to":"x"}')]);
  await expect(
    session.applyHistoryTransaction({
      operationId: "o",
      transaction: { type: "append_items", items: [call("1")] },
    }),
  ).resolves.toBeUndefined();
  expect(await session.getItems()).toHaveLength(1);
});

test("the newest 512 transactions are remembered, in 32 KiB", async () => {
  const stores = createMemoryStores();
  const session = new ScrollbackSession({ stores });
  const apply = (n: number) =>
    session.applyHistoryTransaction({
      operationId: `an operation id of the usual length ${n}`,
      transaction: { type: "append_items", items: [user(`${n}`)] },
    });
  for (let n = 0; n < 513; n++) await apply(n);
  const { metadata } = await stores.open(session.threadId).read({ limit: 0 });
  expect(stores.metadataSize(metadata)).toBeLessThan(32 * 1_024);
  await apply(1);
  expect(await session.getItems()).toHaveLength(513);
  await apply(0);
  expect(await session.getItems()).toHaveLength(514);
});

test("a change of a function call rewrites no earlier item, and doubles none if some are corrupt", async () => {
  const driver = new MemoryDriver();
  const written: number[] = [];
  const commit = driver.commit.bind(driver);
  driver.commit = (request) => {
    written.push(request.append.length);
    return commit(request);
  };
  let isCorrupt = false;
  const codec = {
    encode: (value: unknown) => JSON.stringify(value),
    decode: (text: string | Uint8Array) => {
      if (isCorrupt && text === JSON.stringify(assistant("corrupt"))) throw new Error("corrupt");
      return JSON.parse(String(text));
    },
  };
  const stores = createStores(driver, { codec, onCorruptRecord: () => undefined });
  const session = new ScrollbackSession({ stores });
  await session.addItems([user("1"), call("1"), assistant("corrupt"), call("2"), assistant("2")]);
  isCorrupt = true;
  const mutation = { type: "replace_function_call" as const, callId: "2", replacement: call("2", "x") };
  await session.applyHistoryMutations({ mutations: [mutation] });
  await session.applyHistoryMutations({ mutations: [mutation] });
  expect(written).toEqual([5, 2]);
  isCorrupt = false;
  expect(await session.getItems()).toEqual([
    user("1"),
    call("1"),
    assistant("corrupt"),
    call("2", "x"),
    assistant("2"),
  ]);
});

test("a change of a function call keeps items that others add meanwhile", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const session = new ScrollbackSession({ stores, sessionId: "s" });
  await session.addItems([call("1"), assistant("1")]);
  const read = driver.read.bind(driver);
  driver.read = async (request) => {
    driver.read = read;
    const view = await read(request);
    await new ScrollbackSession({ stores, sessionId: "s" }).addItems([assistant("2")]);
    return view;
  };
  const mutation = { type: "replace_function_call" as const, callId: "1", replacement: call("1", "x") };
  await session.applyHistoryMutations({ mutations: [mutation] });
  expect(await session.getItems()).toEqual([call("1", "x"), assistant("1"), assistant("2")]);
});

test("a history for a model has no result without its call and no call without its result; a warning says so once", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const stores = createMemoryStores();
  const reasoning = (id: string) => ({ type: "reasoning" as const, id, content: [] });
  const open = [reasoning("r3"), call("open")];
  const given = [
    ...[result("trimmed"), user("1"), reasoning("r1"), call("a"), call("b"), result("a"), assistant("x")],
    ...[result("b"), reasoning("r2"), call("lost"), user("2"), ...open],
  ];
  const kept = [user("1"), reasoning("r1"), call("a"), call("b"), result("a"), assistant("x"), result("b")];
  for (let round = 0; round < 2; round++) {
    const session = new ScrollbackSession({ stores, sessionId: "s" });
    if (round === 0) await session.addItems(given);
    expect(await session.getItems()).toEqual([...kept, user("2"), ...open]);
    expect(await stores.open(session.threadId).listMessages()).toEqual(given);
  }
  expect(warn).toHaveBeenCalledTimes(1);
  vi.restoreAllMocks();
});

test("a chat takes a read and one or two commits per run", async () => {
  const driver = new MemoryDriver();
  const calls = { commit: 0, read: 0 };
  const { commit, read } = { commit: driver.commit.bind(driver), read: driver.read.bind(driver) };
  driver.commit = (request) => {
    calls.commit++;
    return commit(request);
  };
  driver.read = (request) => {
    calls.read++;
    return read(request);
  };
  const stores = createStores(driver);
  const narrow = new ScrollbackSession({ stores: createMemoryStores({ maxMessages: 2 }) });
  await narrow.addItems([user("1"), call("a"), result("a"), assistant("2")]);
  expect(await narrow.getItems()).toEqual([assistant("2")]);
  const sessionId = crypto.randomUUID();
  const steps = await tellStory(() => new ScrollbackSession({ stores, sessionId }));
  // The test itself reads once per step.
  expect({ ...calls, read: calls.read - steps.length }).toEqual({ commit: 7, read: 5 });
});

test("a session whose stores trim keeps calls and results together, and continues", async () => {
  const stores = createMemoryStores({ maxMessages: 4 });
  const session = new ScrollbackSession({ stores });
  await session.addItems([user("1"), call("a"), result("a"), assistant("2")]);
  await session.addItems([user("3"), call("b")]);
  await session.addItems([result("b")]);
  expect(await session.getItems()).toEqual([user("3"), call("b"), result("b")]);
  const sessionId = crypto.randomUUID();
  const steps = await tellStory(
    () => new ScrollbackSession({ stores: createMemoryStores({ maxMessages: 8 }), sessionId }),
  );
  expect(steps.at(-1)?.output).toBe("Then not.");
});

test("invalid input is refused before any I/O", async () => {
  const open = createMemoryStores();
  for (const options of [
    undefined,
    {},
    { stores: {} },
    { stores: open, sessionId: "" },
    { stores: open, sessionId: null },
    { stores: open, sessionId: "\ud800" },
    { stores: open, more: 1 },
  ])
    expect(() => new ScrollbackSession(options as never), JSON.stringify(options)).toThrow(StoreError);
  const refused = { code: "INVALID_ARGUMENT" };
  const session = new ScrollbackSession({ stores: open });
  await expect(session.getItems(1.5)).rejects.toMatchObject(refused);
  for (const limit of [null, "2", 2n])
    await expect(session.getItems(limit as never)).rejects.toMatchObject(refused);
  for (const args of [undefined, null, {}, { mutations: 5 }, { mutations: [null] }])
    await expect(session.applyHistoryMutations(args as never)).rejects.toMatchObject(refused);
  await expect(session.addItems([null as never])).rejects.toMatchObject(refused);
  await expect(session.addItems([{ ...user("a"), providerData: { f: () => 1 } }])).rejects.toMatchObject(
    refused,
  );
});

test("an item that cannot be stored is refused with its place by every call, and changes nothing", async () => {
  class Point {
    x = 1;
  }
  const session = new ScrollbackSession({ stores: createMemoryStores() });
  await session.addItems([call("1")]);
  const providerData = { at: [new Point()] };
  const replacement = { ...call("1"), providerData };
  const refusal = (problem: string) => ({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining(`${problem}providerData.at[0] is an instance of Point`),
  });
  await expect(session.addItems([user("a"), { ...user("b"), providerData }])).rejects.toMatchObject(
    refusal("messages[1]: "),
  );
  await expect(session.replaceHistoryWithCompaction([replacement])).rejects.toMatchObject(
    refusal("messages[0]: "),
  );
  const mutations = [{ type: "replace_function_call" as const, callId: "1", replacement }];
  await expect(session.applyHistoryMutations({ mutations })).rejects.toMatchObject(
    refusal("applyHistoryMutations: mutations: [0].replacement."),
  );
  expect(await session.getItems()).toEqual([call("1")]);
});

test("different ids have different threads", () => {
  const stores = createMemoryStores();
  const ids = ["a", "a:b", "a%3Ab", "A", "ä", "x".repeat(300), "x".repeat(301), "#"];
  const threads = ids.map((sessionId) => new ScrollbackSession({ stores, sessionId }).threadId);
  expect(new Set(threads).size).toBe(ids.length);
  for (const thread of threads) expect(thread).toMatch(/^openai:[^:]+$/);
});
