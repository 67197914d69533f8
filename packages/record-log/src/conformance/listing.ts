import { fc, rejection } from "@scrollback/conformance/internal";
import { expect } from "vitest";
import { FIRST_ROW, type RecordLog, type StreamsRequest } from "../index.ts";
import type { DeclareLogTest, RecordLogHarness } from "./harness.ts";

/** The number of a row that a driver would insert today. */
const TODAY = Date.now() * 2048;

/** The maximum length of the `next` of a page. */
const MAX_CURSOR_BYTES = 4_096;

const newPrefix = () => `${crypto.randomUUID()}/`;

async function withLog({ connect }: RecordLogHarness, run: (log: RecordLog) => Promise<void>): Promise<void> {
  const log = connect();
  await run(log).finally(() => log.close());
}

const row = (number: number, expiresAt?: number) => ({ number, head: "h", texts: ["text"], expiresAt });

/** Creates streams as a driver does: a root, and a row with a number of today. */
export async function makeStreams(log: RecordLog, names: readonly string[]): Promise<void> {
  const left = [...names];
  const inTurn = async () => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      await log.insert(name, row(1));
      await log.insert(name, row(TODAY));
    }
  };
  await Promise.all(Array.from({ length: 8 }, inTurn));
}

/** The streams of all pages, in the returned order. `between` runs after each page. */
export async function listAll(
  log: RecordLog,
  { prefix, limit }: Pick<StreamsRequest, "prefix" | "limit">,
  between?: (page: readonly string[]) => Promise<void>,
): Promise<string[]> {
  const names: string[] = [];
  let after: string | undefined;
  do {
    const page = await log.streams({ prefix, limit, after });
    expect(page.streams.length, "streams on a page").toBeLessThanOrEqual(limit);
    expect(new Set(page.streams).size, "streams on a page, each once").toBe(page.streams.length);
    expect(Buffer.byteLength(page.next ?? ""), "bytes of a cursor").toBeLessThanOrEqual(MAX_CURSOR_BYTES);
    names.push(...page.streams);
    await between?.(page.streams);
    after = page.next;
  } while (after !== undefined);
  return names;
}

/** Characters that a backend may treat as a pattern, an end or another character, or sort in another order. */
const CHARACTERS = [
  ...["%", "_", "*", "?", "[a]", "^", "$", ".", "\\", "'", '"', "`", "|", ":", "/", "{", "}", ";", "--"],
  ...["\0", "\x01", "\n", "\x1a", "\x1e", "\x7f", " ", "a", "A", "é", "e\u0301", "ß", "\ud7ff", "\ue000"],
  ...["\ufffd", "\uffff", "𐀀", "💬", "\u{10ffff}"],
];

const name = fc
  .array(fc.constantFrom(...CHARACTERS), { minLength: 1, maxLength: 3 })
  .map((all) => all.join(""));

/** Tests of the verb `streams` against the contract of `RecordLog`. */
export function declareListing(test: DeclareLogTest): void {
  test("lists the streams whose names begin with a prefix, of any characters", (harness) =>
    withLog(harness, async (log) => {
      const own = newPrefix();
      const names = [...new Set(fc.sample(name, 150))].map((end) => own + end);
      const longest = own + "é:%".repeat(240);
      await makeStreams(log, [...names, longest, own]);
      await makeStreams(log, [`${own.slice(0, -1)}0`, `x${own}`, own.toUpperCase()]);
      const all = [...names, longest, own];
      for (const end of [
        "",
        ...CHARACTERS,
        "a%",
        "\0a",
        "é:",
        `é:%`.repeat(240),
        "none",
        "a".repeat(2_000),
      ]) {
        const expected = all.filter((one) => one.startsWith(own + end));
        const listed = await listAll(log, { prefix: own + end, limit: 1_000 });
        expect(new Set(listed), `with ${JSON.stringify(end)}`).toEqual(new Set(expected));
      }
      for (const limit of [1, 2, 7]) {
        expect(new Set(await listAll(log, { prefix: own, limit })), `${limit} a page`).toEqual(new Set(all));
      }
    }));

  test("lists only streams that have a root", (harness) =>
    withLog(harness, async (log) => {
      const own = newPrefix();
      const day = 24 * 60 * 60 * 1_000;
      await log.insert(`${own}lowest`, row(1));
      await log.insert(`${own}highest`, row(FIRST_ROW - 1));
      await log.insert(`${own}none`, row(FIRST_ROW));
      await log.insert(`${own}none`, row(TODAY));
      for (const number of [1, 2, 3, 1_000, FIRST_ROW - 1]) await log.insert(`${own}many`, row(number));
      // A stream that has expired but is not deleted may be listed; one that expires later must be.
      await log.insert(`${own}expires`, row(1, Date.now() + day));
      const listed = await listAll(log, { prefix: own, limit: 2 });
      expect(new Set(listed)).toEqual(
        new Set(["lowest", "highest", "many", "expires"].map((end) => own + end)),
      );
      await log.amend(`${own}many`, [{ from: 1, to: FIRST_ROW, blank: "all", expiresAt: Date.now() + day }]);
      expect(await listAll(log, { prefix: `${own}many`, limit: 10 })).toContain(`${own}many`);
    }));

  test("lists no stream whose root the backend has deleted", (harness) =>
    withLog(harness, async (log) => {
      const own = newPrefix();
      await log.insert(`${own}gone`, row(1, Date.now() - 10_000));
      await log.insert(`${own}gone`, row(TODAY));
      await log.insert(`${own}there`, row(1));
      await harness.sweep(`${own}gone`);
      expect(await listAll(log, { prefix: own, limit: 1 })).toEqual([`${own}there`]);
      await log.insert(`${own}gone`, row(2));
      expect((await listAll(log, { prefix: own, limit: 1 })).sort()).toEqual([`${own}gone`, `${own}there`]);
    }));

  test("lists every stream that exists during the whole listing, during concurrent writes", (harness) =>
    withLog(harness, async (log) => {
      const own = newPrefix();
      const numbers = Array.from({ length: 60 }, (_, index) => String(index).padStart(2, "0"));
      const there = numbers.map((number) => `${own}${number}`);
      await makeStreams(log, there);
      let [pages, commits] = [0, 0];
      const listed = await listAll(log, { prefix: own, limit: 7 }, async ([first]) => {
        pages += 1;
        // Before and after the place of each page, in old and new streams; also the roots at which a page ends.
        const others = pages > 40 ? [] : [`${own}${pages}-new`, `${own}new-${pages}`, `${own}00-${pages}`];
        await makeStreams(log, others);
        for (const stream of there.slice(0, 10)) {
          commits += 1;
          await log.insert(stream, row(TODAY + commits));
        }
        if (first) {
          await log.insert(first, row(1 + pages));
          await log.amend(first, [{ from: 1, to: FIRST_ROW, expiresAt: Date.now() + 1e9 }]);
        }
      });
      for (const stream of there) expect(listed).toContain(stream);
      expect(listed.every((stream) => stream.startsWith(own))).toBe(true);
    }));

  test("refuses a cursor that it did not return", (harness) =>
    withLog(harness, async (log) => {
      const prefix = newPrefix();
      await makeStreams(log, [`${prefix}a`, `${prefix}b`]);
      const cursors = ["", "none", "{}", "[]", "null", "0", "-1", "\ud800", `${prefix}${"a".repeat(2_000)}`];
      for (const after of cursors) {
        await rejection(log.streams({ prefix, limit: 10, after }), "INVALID_ARGUMENT");
      }
    }));
}
