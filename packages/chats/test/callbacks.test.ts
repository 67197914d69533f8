import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import type { Identified } from "../src/chat.ts";
import { ChatStore, type ChatStoreOptions } from "../src/index.ts";

interface Said extends Identified {
  readonly content: string;
}
type Options = ChatStoreOptions<Said>;
type Callback = "check" | "preview" | "closeAnswer" | "now" | "onError";

const message = (id: string, role: Said["role"] = "user"): Said => ({ id, role, content: id });
const cycle: unknown[] = [];
cycle.push(cycle);

/** A new callback does not compile without an entry. */
const wrongResults: Record<
  Exclude<
    keyof Options,
    | "stores"
    | "leaseMs"
    | "beatMs"
    | "indexedLabels"
    | "maxSiblings"
    | "maxSiblingBytes"
    | "fileBytes"
    | "blobs"
  >,
  unknown
> = {
  check: Promise.resolve("a promise"),
  preview: 1,
  closeAnswer: { id: "a", role: "assistant", cycle },
  now: Number.NaN,
  onError: "ignored",
};
const failuresOf = (name: Callback): Record<string, () => never> => ({
  throws() {
    throw new Error("boom");
  },
  ["rejects late" as string]: (async () => {
    await sleep(1);
    throw new Error("boom");
  }) as never,
  hangs: (() => new Promise(() => undefined)) as never,
  "returns a wrong value": (() => wrongResults[name]) as never,
});
const rows = (Object.keys(wrongResults) as Callback[]).flatMap((name) =>
  Object.entries(failuresOf(name)).map(([failure, fail]) => [name, failure, fail] as const),
);

class Failing extends MemoryDriver {
  failures = 0;

  override async commit(...args: Parameters<MemoryDriver["commit"]>) {
    const isChat = args[0].threadId.split(":")[1] === "chat";
    if (isChat && this.failures-- > 0) throw new StoreError("UNAVAILABLE", "no writes");
    return await super.commit(...args);
  }
}

test.each(rows)("%s that %s leaves no run open", async (name, _failure, fail) => {
  const heard: unknown[][] = [];
  const driver = new Failing();
  let isFailing = name !== "check";
  const chats = new ChatStore<Said>({
    stores: createStores(driver),
    ...{ beatMs: 10, leaseMs: 1_000 },
    onError: (...args) => void heard.push(args),
    [name]: (...args: never[]) => {
      if (name === "onError") heard.push(args);
      return isFailing ? (fail as (...args: never[]) => unknown)(...args) : undefined;
    },
  });
  const mine = chats.of("ada");
  const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
  isFailing = true;
  run.update(message("a", "assistant"));
  await expect.poll(async () => (await mine.get("c"))?.messageCount).toBe(2);
  driver.failures = name === "onError" ? 1 : 0;
  const ended = run.end({ message: message("a", "assistant"), status: "stopped" });
  if (name === "check") await expect(ended).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await (name === "check" ? run.end({ status: "stopped" }) : ended);
  const page = await mine.read("c");
  expect(page?.entries.at(-1)).toMatchObject({ message: message("a", "assistant"), status: "stopped" });
  expect(page?.chat).not.toHaveProperty("run");
  expect(page?.chat.lastMessage).toMatchObject({ text: "a" });
  expect(Math.abs((page?.chat.updatedAt ?? 0) - Date.now())).toBeLessThan(60_000);
  await chats.flush();
  expect(heard.map(([, source]) => source)).toContain(name === "onError" ? "end" : "callback");
});

test("a function of one call that returns a promise is refused, and changes nothing", async () => {
  const mine = new ChatStore<Said>({ stores: createStores(new MemoryDriver()) }).of("ada");
  await mine.create({ id: "c", messages: [message("q")] });
  const late = (async () => {
    await sleep(1);
    throw new Error("boom");
  }) as never;
  const refused = { code: "INVALID_ARGUMENT", message: expect.stringMatching(/not a promise/) };
  await expect(mine.update("c", late)).rejects.toMatchObject(refused);
  await expect(mine.begin("c", late)).rejects.toMatchObject(refused);
  expect(await mine.get("c")).not.toHaveProperty("run");
});

test("an answer that cannot be stored is reported, and the lease is kept for its end", async () => {
  const heard: unknown[] = [];
  const chats = new ChatStore<Said>({
    stores: createStores(new MemoryDriver()),
    ...{ beatMs: 10, leaseMs: 100 },
    onError: (error, source) => void heard.push({ error, source }),
  });
  const mine = chats.of("ada");
  const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
  run.update({ ...message("a", "assistant"), cycle } as Said);
  await sleep(300);
  expect((await mine.get("c"))?.run?.state).toBe("running");
  expect(heard[0]).toMatchObject({ source: "beat", error: { code: "INVALID_ARGUMENT" } });
  await run.end({ message: message("a", "assistant"), status: "complete" });
  expect((await mine.read("c"))?.entries.at(-1)).toMatchObject({ status: "complete" });
});

test("an end with an answer that cannot be stored is refused, and the run keeps its lease", async () => {
  const chats = new ChatStore<Said>({
    stores: createStores(new MemoryDriver()),
    ...{ beatMs: 10, leaseMs: 100 },
  });
  const mine = chats.of("ada");
  const run = await mine.begin("c", { append: [message("q")] }, { messageId: "a" });
  const refused = run.end({ message: { ...message("a", "assistant"), cycle } as Said, status: "complete" });
  await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await sleep(200);
  expect((await mine.get("c"))?.run?.state).toBe("running");
  expect(await mine.stop("c")).toBe(true);
  expect(run.signal.aborted).toBe(true);
  await run.end({ message: message("a", "assistant"), status: "stopped" });
  expect((await mine.read("c"))?.entries.at(-1)).toMatchObject({ status: "stopped" });
  await chats.flush();
});
