import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { RecordLogDriver } from "../src/index.ts";
import { MemoryRecordLog } from "../src/memory-log.ts";
import { FIRST_ROW, type LogRow } from "../src/record-log.ts";

/** A log in which the head of one row is damaged, and whose process may die before an amendment. */
class DamagedLog extends MemoryRecordLog {
  damaged: number | undefined;
  dies = false;

  override async read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    const rows = await super.read(stream, below, limit);
    return rows.map((row) => (row.number === this.damaged ? { ...row, head: "damaged" } : row));
  }

  override async amend(...request: Parameters<MemoryRecordLog["amend"]>): Promise<void> {
    if (this.dies) throw new Error("the process died");
    await super.amend(...request);
  }

  get texts(): string {
    return this.rowsOf("a")
      .flatMap(({ texts }) => texts)
      .join("");
  }
}

const user = (content: string) => ({ role: "user" as const, content });

/** A log with a thread that was begun twice, with 4 commits, one of them in several rows. */
async function filled(): Promise<DamagedLog> {
  const log = new DamagedLog(64 * 1024);
  const stores = createStores(new RecordLogDriver(log));
  const store = stores.open("a");
  await store.addMessages([user("first")]);
  await stores.deleteThread("a");
  await store.commit({ append: [user("private 1")], metadata: "private" });
  await store.addMessages([user(`private ${"2".repeat(150_000)}`)]);
  await store.addMessages([user("private 3")]);
  return log;
}

const numbers = (log: DamagedLog) =>
  log
    .rowsOf("a")
    .map(({ number }) => number)
    .sort((one, other) => one - other);

test("C21 a thread is deleted whichever of its rows is damaged, also by a call after one that died", async () => {
  const count = numbers(await filled()).length;
  for (let index = 0; index < count; index++) {
    for (const dies of [false, true]) {
      const log = await filled();
      log.damaged = numbers(log)[index] ?? 0;
      const what = `row ${index + 1} of ${count}${dies ? ", after a call that died" : ""}`;
      if (dies) {
        log.dies = true;
        await expect(createStores(new RecordLogDriver(log)).deleteThread("a"), what).rejects.toThrow();
        log.dies = false;
        expect(log.texts, what).toContain("private");
      }
      const stores = createStores(new RecordLogDriver(log));
      await stores.deleteThread("a");
      expect(log.texts, what).toBe("");
      // A root outlives the deletion, so that nothing is given twice.
      const isRoot = log.damaged < FIRST_ROW && index === 1;
      const added = stores.open("a").addMessages([user("new")]);
      if (isRoot) await expect(added, what).rejects.toMatchObject({ code: "CORRUPT" });
      else {
        await added;
        expect(await createStores(new RecordLogDriver(log)).open("a").listMessages(), what).toEqual([
          user("new"),
        ]);
      }
    }
  }
});

test("C21 a deletion with an expected revision does not delete a thread whose newest row is damaged", async () => {
  const log = await filled();
  log.damaged = numbers(log).at(-1);
  const stores = createStores(new RecordLogDriver(log));
  for (const expectedRevision of [null, "other.1"])
    await expect(stores.deleteThread("a", { expectedRevision })).rejects.toMatchObject({ code: "CORRUPT" });
  expect(log.texts).toContain("private 3");
});
