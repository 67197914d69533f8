import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { type LogRow, MemoryRecordLog, type RecordLog, RecordLogDriver } from "../src/index.ts";
import { user } from "./scenes.ts";

// One process with more pending operations, or more threads, than its caches hold.

const lost = new Error("the reply was lost");

/** A log that calls a gate before and after each insert takes effect. */
function gated(
  log: MemoryRecordLog,
  gate: {
    before?: (stream: string, row: LogRow) => Promise<void> | void;
    after?: (stream: string, row: LogRow) => Promise<void> | void;
  },
): RecordLog & { reads: number } {
  return {
    reads: 0,
    capabilities: log.capabilities,
    async insert(stream, row) {
      await gate.before?.(stream, row);
      const inserted = await log.insert(stream, row);
      if (inserted === true) await gate.after?.(stream, row);
      return inserted;
    },
    async read(stream, below, limit) {
      this.reads += 1;
      return await log.read(stream, below, limit);
    },
    amend: (stream, amendments) => log.amend(stream, amendments),
    streams: (request) => log.streams(request),
    close: async () => {},
    classifyError: (error) =>
      error === lost ? { code: "UNAVAILABLE", message: "lost", retryable: true } : undefined,
  };
}

const operationIn = ({ head }: LogRow): string | undefined => JSON.parse(head).o;

test("C4 400 concurrent commits whose first replies are all lost take effect once each", async () => {
  const seen = new Set<string>();
  const log = gated(new MemoryRecordLog(), {
    after: (_, row) => {
      const operation = operationIn(row);
      if (operation === undefined || seen.has(operation)) return;
      seen.add(operation);
      throw lost;
    },
  });
  const store = createStores(new RecordLogDriver(log)).open("t");
  await Promise.all(Array.from({ length: 400 }, (_, index) => store.addMessages([user(`${index}`)])));
  expect(await store.listMessages()).toHaveLength(400);
});

test("C4 a commit whose reply is lost takes effect once, also after writes to 1,000 other threads", async () => {
  const rows = new MemoryRecordLog();
  const others = createStores(new RecordLogDriver(rows));
  let isLost = false;
  const log = gated(rows, {
    after: async (stream, row) => {
      if (isLost || stream !== "busy" || operationIn(row) === undefined) return;
      isLost = true;
      for (let index = 0; index < 64; index++) await others.open("busy").addMessages([user(`${index}`)]);
      throw lost;
    },
  });
  const stores = createStores(new RecordLogDriver(log));
  const paying = stores.open("busy").addMessages([user("once")]);
  await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => stores.open(`thread ${index}`).addMessages([user("other")])),
  );
  await paying;
  const found = (await stores.open("busy").listMessages()).filter(({ content }) => content === "once");
  expect(found).toHaveLength(1);
});

test("C15 a hanging commit that was aborted does not block the next one", async () => {
  let hangs = false;
  const log = gated(new MemoryRecordLog(), {
    before: async () => {
      if (!hangs) return;
      hangs = false;
      await new Promise(() => {});
    },
  });
  const store = createStores(new RecordLogDriver(log)).open("t");
  await store.addMessages([user("first")]);
  hangs = true;
  const hung = store.addMessages([user("hung")], { signal: AbortSignal.timeout(50) });
  await expect(hung).rejects.toMatchObject({ code: "ABORTED" });
  await store.addMessages([user("next")]);
  expect((await store.listMessages()).map(({ content }) => content)).toEqual(["first", "next"]);
});

test("C7 the fragments of a batch are read together", async () => {
  const log = gated(new MemoryRecordLog(64 * 1024), {});
  const store = createStores(new RecordLogDriver(log)).open("t");
  await store.addMessages(Array.from({ length: 300 }, (_, index) => user(`${index}`.padEnd(19_000))));
  log.reads = 0;
  expect(await store.listMessages()).toHaveLength(300);
  expect(log.reads).toBeLessThanOrEqual(3);
});
