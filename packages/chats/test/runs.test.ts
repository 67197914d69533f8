import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Identified } from "../src/chat.ts";
import { type ChatRun, ChatStore } from "../src/index.ts";
import { message, storeError, textsIn } from "./contract/values.ts";

interface Said extends Identified {
  readonly parts: string[];
}

const answer = (id: string) => message(id, "assistant");

async function withRun() {
  const mine = new ChatStore({ stores: createMemoryStores() }).of("ada");
  const messages = [message("q0"), answer("a0"), message("q")];
  await mine.create({ id: "c", messages });
  const run = await mine.begin("c", {}, { messageId: "a" });
  return { mine, run };
}
type Mine = Awaited<ReturnType<typeof withRun>>["mine"];

const drops: Record<string, (mine: Mine) => Promise<unknown>> = {
  "edit, same id": (mine) => mine.edit("c", "q", message("q", "user", "other")),
  edit: (mine) => mine.edit("c", "q0", message("q1", "user", "other")),
  truncate: (mine) => mine.truncate("c", { from: "q" }),
  dropAnswer: (mine) => mine.dropAnswer("c", "a0"),
};
for (const [name, drop] of Object.entries(drops))
  test(`${name} before the first save of a run ends the run: its answer is not stored behind other messages`, async () => {
    const { mine, run } = await withRun();
    const made = await drop(mine);
    expect(made).not.toHaveProperty("run");
    expect(run.signal.aborted).toBe(true);
    const texts = await textsIn(mine as never, "c");
    const result = { message: answer("a"), status: "complete" } as const;
    await expect(run.end(result)).rejects.toMatchObject(storeError("CONFLICT"));
    expect(await textsIn(mine as never, "c")).toEqual(texts);
  });

test("a run does not take the id of the run that it stops, which would pass for it", async () => {
  const { mine, run } = await withRun();
  const again = mine.begin("c", {}, { runId: run.id, whileRunning: "stop" });
  await expect(again).rejects.toMatchObject(storeError("CONFLICT", /runId/));
  await mine.begin("c", {}, { runId: "other", whileRunning: "stop" });
  await expect(run.end({ message: answer("a"), status: "complete" })).rejects.toMatchObject(
    storeError("CONFLICT"),
  );
});

test("a repetition of begin that comes before the first one has returned gets its run", async () => {
  const driver = new MemoryDriver();
  const mine = new ChatStore({ stores: createStores(driver) }).of("ada");
  await mine.create({ id: "c" });
  const commit = driver.commit.bind(driver);
  driver.commit = async (...args) => {
    const outcome = await commit(...args);
    await new Promise((resolve) => setTimeout(resolve, 50));
    return outcome;
  };
  const begin = () => mine.begin("c", { append: [message("q")] }, { operationId: "op" });
  const [one, two] = await Promise.all([begin(), new Promise((r) => setTimeout(r, 20)).then(begin)]);
  expect(two).toBe(one);
  await one.end({ status: "stopped" });
});

test("a partial answer whose last update was empty is closed as any other", async () => {
  const stores = createMemoryStores();
  const closeAnswer = (said: Said) => ({ ...said, parts: ["closed"] });
  const mine = new ChatStore<Said>({ stores, closeAnswer }).of("ada");
  const run = await mine.begin("c", { append: [{ id: "q", role: "user", parts: ["hi"] }] });
  const answered = (parts: string[]) => ({ id: run.messageId, role: "assistant", parts }) as const;
  run.update(answered(["open"]));
  await run.save();
  run.update(answered([]));
  await run.end({ status: "stopped" });
  const stored = (await mine.read("c"))?.entries.at(-1);
  expect(stored).toMatchObject({ status: "stopped", message: { parts: ["closed"] } });
});

test("appends and upserts do not end a run", async () => {
  const { mine, run } = await withRun();
  await mine.upsert("c", message("q", "user", "other"));
  await mine.append("c", [message("later")]);
  await run.end({ message: answer("a"), status: "complete" });
  expect(await textsIn(mine as never, "c")).toEqual(["q0", "a0", "other", "later", "a"]);
});

test("a save that loses to other writers again and again fails with UNAVAILABLE, and the run goes on", async () => {
  // The pauses between attempts are a random share of their maximum.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  let isLosing = false;
  const driver = new MemoryDriver();
  const commit = driver.commit.bind(driver);
  driver.commit = async (request) =>
    isLosing && request.threadId.split(":")[1] === "chat"
      ? { outcome: "revision-conflict", revision: null }
      : await commit(request);
  const mine = new ChatStore({ stores: createStores(driver) }).of("ada");
  await mine.create({ id: "c", messages: [message("q")] });
  const run = await mine.begin("c", {}, { messageId: "a" });
  run.update(answer("a"));
  isLosing = true;
  await expect(run.save()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  isLosing = false;
  expect(run.signal.aborted).toBe(false);
  await run.end({ message: answer("a"), status: "complete" });
  expect(await textsIn(mine as never, "c")).toEqual(["q", "a"]);
});

test.each([
  ["a tool call", { content: "", toolCalls: [{ id: "t1", name: "weather" }] }],
  ["metadata", { content: "", metadata: { cost: 3 } }],
  ["a part", { content: [{ type: "file", url: "memory:1" }] }],
  ["a field of its own", { refusal: "no" }],
])("an answer without text is stored if it has %s", async (_, fields) => {
  const stores = createMemoryStores();
  const mine = new ChatStore<Identified & { content?: unknown }>({ stores }).of("ada");
  await mine.create({ id: "c" });
  const run = await mine.begin("c", {}, { messageId: "a" });
  const last = { id: "a", role: "assistant" as const, ...fields };
  run.update({ ...last, content: "so far" });
  await run.save();
  await run.end({ message: last, status: "complete" });
  expect((await mine.read("c"))?.entries).toMatchObject([{ message: last, status: "complete" }]);
});

test.each([
  ["no message", undefined],
  ["an empty message", { id: "a", role: "assistant" as const, content: "", authorName: "bot", metadata: {} }],
])("a run that ends with %s keeps its last update", async (_, last) => {
  const { mine, run } = await withRun();
  run.update(answer("a"));
  await run.end({ ...(last && { message: last }), status: "stopped" });
  const { message, status } = (await mine.read("c"))?.entries.at(-1) ?? {};
  expect({ message, status }).toEqual({ message: answer("a"), status: "stopped" });
});

test("an empty answer that was saved does not stay partial", async () => {
  const { mine, run } = await withRun();
  const empty = { id: "a", role: "assistant" as const, content: "" };
  run.update(empty);
  await run.save();
  await run.end({ message: empty, status: "failed", error: "no model" });
  const { message, status, error } = (await mine.read("c"))?.entries.at(-1) ?? {};
  expect({ message, status, error }).toEqual({ message: empty, status: "failed", error: "no model" });
});

test.each<[string, unknown, RegExp]>([
  ["nothing", undefined, /the result/],
  ["no status", {}, /status must be/],
  ["an unknown status", { status: "done" }, /status must be/],
  ["a status that is not final", { status: "partial" }, /status must be/],
  ["an error that is not text", { status: "failed", error: { a: 1 } }, /error must be/],
  ["an unknown option", { status: "complete", mesage: 1 }, /mesage/],
  ["a message without a role", { status: "complete", message: { id: "a" } }, /message role/],
])("the end of a run with %s is refused, and the run goes on", async (_, result, text) => {
  const { mine, run } = await withRun();
  await expect(run.end(result as never)).rejects.toMatchObject(storeError("INVALID_ARGUMENT", text));
  expect((await mine.get("c"))?.run).toMatchObject({ state: "running" });
  await run.end({ message: answer("a"), status: "complete" });
  expect(await textsIn(mine as never, "c")).toEqual(["q0", "a0", "q", "a"]);
});

test("an update with a value that is not a message is refused", async () => {
  const { run } = await withRun();
  for (const value of [undefined, "text", { role: "assistant" }, { id: "a", role: "robot" }])
    expect(() => run.update(value as never)).toThrow(/^update: message/);
  await run.end({ status: "stopped" });
});

test.each([
  ["an answer", answer("a")],
  ["no answer", undefined],
])("the end of a run with %s whose reply is lost is not a takeover", async (_, last) => {
  const driver = new MemoryDriver();
  const commit = driver.commit.bind(driver);
  let isLosing = false;
  driver.commit = async (request) => {
    const outcome = await commit(request);
    if (!isLosing || request.threadId.split(":")[1] !== "chat") return outcome;
    isLosing = false;
    throw new StoreError("UNAVAILABLE", "the reply is lost");
  };
  driver.classifyError = () => ({ code: "UNAVAILABLE", retryable: false }) as never;
  const mine = new ChatStore({ stores: createStores(driver) }).of("ada");
  await mine.create({ id: "c", messages: [message("q")] });
  const run = await mine.begin("c", {}, { messageId: "a" });
  isLosing = true;
  await run.end({ ...(last && { message: last }), status: "complete" });
  expect(run.signal.aborted).toBe(false);
  expect(await textsIn(mine as never, "c")).toEqual(last ? ["q", "a"] : ["q"]);
  expect(await mine.get("c")).not.toHaveProperty("run");
});

test("the end of a run whose reply is lost, before another run begins, says what is stored", async () => {
  const driver = new MemoryDriver();
  const commit = driver.commit.bind(driver);
  let isLosing = false;
  let theirs: ChatRun<ReturnType<typeof message>> | undefined;
  const next = new ChatStore<ReturnType<typeof message>>({ stores: createStores(driver) }).of("ada");
  driver.commit = async (request) => {
    const outcome = await commit(request);
    if (!isLosing || request.threadId.split(":")[1] !== "chat") return outcome;
    isLosing = false;
    theirs = await next.begin("c", {});
    throw new StoreError("UNAVAILABLE", "the reply is lost");
  };
  driver.classifyError = () => ({ code: "UNAVAILABLE", retryable: false }) as never;
  const mine = new ChatStore({ stores: createStores(driver) }).of("ada");
  await mine.create({ id: "c", messages: [message("q")] });
  const run = await mine.begin("c", {}, { messageId: "a" });
  isLosing = true;
  await run.end({ message: answer("a"), status: "complete" });
  expect(await textsIn(mine as never, "c")).toEqual(["q", "a"]);
  await theirs?.end({ status: "stopped" });
});

test.each([
  ["with a run id", (run: { id: string }) => run.id],
  ["without a run id", () => undefined],
])("stop %s aborts a run of this process while the store is unusable", async (_, runIdOf) => {
  const driver = new MemoryDriver();
  const mine = new ChatStore({ stores: createStores(driver) }).of("ada");
  const other = await mine.begin("d", { append: [message("q")] });
  const run = await mine.begin("c", { append: [message("q")] });
  const { read } = driver;
  driver.read = async () => {
    throw new StoreError("UNAVAILABLE", "no store");
  };
  const stopped = mine.stop("c", runIdOf(run));
  expect(run.signal.reason).toMatchObject({ cause: "stopped" });
  await expect(stopped).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(other.signal.aborted).toBe(false);
  driver.read = read;
  await run.end({ message: answer("a"), status: "stopped" });
  expect(await mine.stop("c")).toBe(false);
  await other.end({ status: "stopped" });
});

test("an answer that is changed in place is saved at each beat after an update, and at its end", async () => {
  const mine = new ChatStore<Said>({ stores: createMemoryStores(), beatMs: 5 }).of("ada");
  const saved = async () => (await mine.read("c"))?.entries.at(-1)?.message.parts;
  for (const id of ["a", "other"]) {
    const run = await mine.begin("c", { append: [{ id: `q${id}`, role: "user", parts: [] }] });
    const own = { id: id === "a" ? run.messageId : id, role: "assistant" as const, parts: ["one"] };
    run.update(own);
    await expect.poll(saved).toEqual(["one"]);
    own.parts.push("two");
    run.update(own);
    await expect.poll(saved).toEqual(["one", "two"]);
    own.parts.push("three");
    await run.save();
    expect(await saved()).toEqual(["one", "two", "three"]);
    await run.end({ message: own, status: "complete" });
    const continued = await mine.begin("c", { continues: run.messageId });
    const stored = continued.entries.at(-1)?.message;
    if (!stored) throw new Error("no answer");
    stored.parts.push("four");
    await continued.end({ message: stored, status: "complete" });
    expect(await saved()).toEqual(["one", "two", "three", "four"]);
  }
});

test("an answer that is updated without a change is not written again", async () => {
  const { mine, run } = await withRun();
  run.update(answer("a"));
  await run.save();
  const before = (await mine.read("c"))?.entries;
  run.update(answer("a"));
  await run.save();
  expect((await mine.read("c"))?.entries).toEqual(before);
  await run.end({ status: "complete" });
});

test("stop tells that it has stopped a run which ends before its lease is read", async () => {
  let isSlow = false;
  class SlowReads extends MemoryDriver {
    override async read(...args: Parameters<MemoryDriver["read"]>) {
      if (isSlow) await sleep(100);
      return await super.read(...args);
    }
  }
  const mine = new ChatStore({ stores: createStores(new SlowReads()) }).of("ada");
  for (const named of [true, false]) {
    const run = await mine.begin("c", { append: [message(`q ${named}`)] });
    const ended = new Promise((resolve, reject) => {
      run.signal.addEventListener("abort", () => run.end({ status: "stopped" }).then(resolve, reject));
    });
    isSlow = true;
    const stopped = mine.stop("c", named ? run.id : undefined);
    await ended;
    expect(await stopped).toBe(true);
    expect(await mine.stop("c", run.id)).toBe(false);
    isSlow = false;
  }
});
