import { setTimeout as sleep } from "node:timers/promises";
import { createStores, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { ChatStore } from "../src/index.ts";
import type { ChatChange } from "../src/read/follow-chat.ts";
import { dialogue, message, textsOf } from "./contract/values.ts";

type Message = ReturnType<typeof message>;

/** Passes each hint of a driver on as often, and as late in milliseconds, as `delays` says: not at all for `[]`. */
function withHints(driver: MemoryDriver, delays: () => readonly number[]): Driver {
  const { watch } = driver;
  return Object.assign(driver, {
    watch: (threadId: string, onHint: () => void) =>
      watch?.(threadId, () => {
        for (const ms of delays()) setTimeout(onHint, ms);
      }),
  });
}

/** Follows a chat on other stores than those that write. */
function setUp(driver: Driver) {
  const connect = () => new ChatStore<Message>({ stores: createStores(driver) }).of("ada");
  const controller = new AbortController();
  const texts: string[] = [];
  const follow = async (everyMs?: number) => {
    const options = { signal: controller.signal, ...(everyMs !== undefined && { everyMs }) };
    let last: ChatChange<Message> | undefined;
    for await (const change of connect().follow("c", options)) {
      last = change;
      if (change.type === "changed")
        texts.splice(change.index, Number.POSITIVE_INFINITY, ...textsOf(change.entries));
    }
    return last;
  };
  return { mine: connect(), follow, texts, stop: () => controller.abort() };
}

test("a hint is followed by a read at once, however long the interval is, until the chat is gone", async () => {
  const { mine, follow, texts } = setUp(new MemoryDriver());
  await mine.create({ id: "c", messages: dialogue("q") });
  const following = follow(3_600_000);
  await expect.poll(() => texts).toEqual(["q"]);
  await mine.append("c", [message("new")]);
  await expect.poll(() => texts).toEqual(["q", "new"]);
  await mine.delete("c");
  expect(await following).toEqual({ type: "gone" });
});

test.each([
  ["lost", () => []],
  ["late", () => [40]],
  ["doubled", () => [0, 0, 3]],
  ["any of these", () => Array.from({ length: Math.floor(Math.random() * 3) }, () => Math.random() * 20)],
])("every change is yielded though hints are %s", async (_, delays) => {
  const { mine, follow, texts } = setUp(withHints(new MemoryDriver(), delays));
  await mine.create({ id: "c" });
  const following = follow(25);
  const ids = Array.from({ length: 40 }, (_, index) => `m${index}`);
  for (const id of ids) {
    await mine.append("c", [message(id)]);
    await sleep(Math.random() * 5);
  }
  await expect.poll(() => texts).toEqual(ids);
  await mine.delete("c");
  expect(await following).toEqual({ type: "gone" });
});

test("hints without a change yield nothing", async () => {
  const driver = new MemoryDriver();
  let onHint = () => {};
  const watch = (_: string, hint: () => void) => {
    onHint = hint;
    return { [Symbol.dispose]() {} };
  };
  const { mine, follow, texts, stop } = setUp(Object.assign(driver, { watch }));
  await mine.create({ id: "c", messages: dialogue("q") });
  const read = vi.spyOn(driver, "read");
  const following = follow(3_600_000);
  await expect.poll(() => texts).toEqual(["q"]);
  const reads = read.mock.calls.length;
  texts.length = 0;
  onHint();
  await expect.poll(() => read.mock.calls.length).toBe(reads + 1);
  stop();
  expect(await following).toMatchObject({ type: "changed" });
  expect(texts).toEqual([]);
});

test("the end of a follow ends its watch, also of a missing chat", async () => {
  const driver = new MemoryDriver();
  let open = 0;
  const watch = () => {
    open++;
    return { [Symbol.dispose]: () => void open-- };
  };
  const { mine, follow, stop } = setUp(Object.assign(driver, { watch }));
  expect(await follow()).toEqual({ type: "gone" });
  expect(open).toBe(0);
  await mine.create({ id: "c" });
  const following = follow();
  await expect.poll(() => open).toBe(1);
  stop();
  await following;
  expect(open).toBe(0);
});
