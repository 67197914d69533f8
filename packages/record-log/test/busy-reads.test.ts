import type { StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { RecordLogDriver } from "../src/index.ts";
import { MemoryRecordLog } from "../src/memory-log.ts";
import { FIRST_ROW, type LogRow } from "../src/record-log.ts";

const user = (content: string) => ({ role: "user" as const, content });

/** A log with damaged rows, and a writer that commits before each read. */
class BusyLog extends MemoryRecordLog {
  /** Texts that were lost, by row and index. */
  readonly lost = new Set<string>();
  /** Rows that were deleted by hand. */
  readonly gone = new Set<number>();
  write: (() => Promise<unknown>) | undefined;

  override async read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    const { write } = this;
    this.write = undefined;
    await write?.();
    this.write = write;
    const rows = await super.read(stream, below, Number.POSITIVE_INFINITY);
    return rows
      .filter(({ number }) => !this.gone.has(number))
      .map((row) => ({
        ...row,
        texts: row.texts.map((text, at) => (this.lost.has(`${row.number} ${at}`) ? "" : text)),
      }))
      .slice(0, limit);
  }

  get numbers(): number[] {
    const numbers = this.rowsOf("a").map(({ number }) => number);
    return numbers.filter((number) => number >= FIRST_ROW).sort((one, other) => one - other);
  }
}

/** A thread of 9 messages, one of them in several rows, with metadata. */
async function filled() {
  const log = new BusyLog(64 * 1024);
  const store = createStores(new RecordLogDriver(log)).open("a");
  await store.commit({ append: [{ role: "system", content: "0" }], metadata: "title" });
  for (const content of ["1", "2", "3"]) await store.addMessages([user(content)]);
  await store.addMessages([user("4".repeat(150_000))]);
  for (const content of ["5", "6", "7", "8"]) await store.addMessages([user(content)]);
  return { log, store };
}

/** The first characters of the messages that are read beside a writer, and the numbers of the others. */
async function readBeside({ log, store }: Awaited<ReturnType<typeof filled>>) {
  log.write = () => store.addMessages([user("+")]);
  const lost: (number | undefined)[] = [];
  const onCorruptRecord = (error: StoreError) => lost.push(error.sequence);
  const { entries } = await createStores(new RecordLogDriver(log), { onCorruptRecord }).open("a").read();
  log.write = undefined;
  const texts = entries.map(({ message }) => String(message.content).slice(0, 1)).join("");
  return { texts: texts.replace(/\++$/, ""), lost };
}

test("C16 a thread with a lost text is readable beside a quick writer", async () => {
  const count = (await filled()).log.numbers.length;
  let losses = 0;
  for (let index = 0; index < count; index++) {
    const thread = await filled();
    const { log } = thread;
    const row = log.numbers[index] ?? 0;
    const texts = log.rowsOf("a").find(({ number }) => number === row)?.texts ?? [];
    for (const at of texts.keys()) log.lost.add(`${row} ${at}`);
    const found = await readBeside(thread);
    losses += found.lost.length;
    const numbers = new Set(found.lost.filter((one) => one !== undefined));
    const kept = [..."012345678"].filter((_, sequence) => !numbers.has(sequence + 1)).join("");
    expect(found.texts, `row ${index + 1} of ${count}`).toBe(kept);
  }
  // Each message, one of them in each of its rows, and the metadata. The row of a commit in fragments has no text of its own.
  expect(losses).toBe(count);
});

test("C16 a thread with a lost row is readable beside a quick writer", async () => {
  const thread = await filled();
  thread.log.gone.add(thread.log.numbers[2] ?? 0);
  expect(await readBeside(thread)).toEqual({ texts: "01345678", lost: [3] });
});
