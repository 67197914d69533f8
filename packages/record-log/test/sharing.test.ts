import { type CommitRequest, createStores } from "@scrollback/store-core/driver";
import { formatMetadataRecord, formatRecord } from "@scrollback/store-core/internal";
import { expect, test } from "vitest";
import { MemoryRecordLog, RecordLogDriver } from "../src/index.ts";
import { MAX_GROUP } from "../src/write/group.ts";
import { contentsOf, holdBack, THREAD, user, verbsOf, WatchedLog } from "./scenes.ts";
import { appendOf, busyThread, idsIn, isInsert, nOf, processOn, rowSizes, whole } from "./sharing.ts";

test("commits that wait for a commit share one row, in order, and each has its own revision", async () => {
  const rows = new MemoryRecordLog();
  const log = new WatchedLog(rows);
  const store = createStores(new RecordLogDriver(log)).open(THREAD);
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const revisions = await Promise.all(names.map((name) => store.addMessages([user(name)])));
  expect(verbsOf(log)).toEqual(["read", "insert", "insert", "insert"]);
  expect(revisions.map((revision) => Number(revision?.split(".")[1]))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(rowSizes(rows)).toEqual([0, 1, 7]);
  expect(await contentsOf(store)).toEqual(names);
  expect(await contentsOf(createStores(processOn(rows).driver).open(THREAD))).toEqual(names);
  const [last, earlier] = [revisions[7] ?? "", revisions[6] ?? ""];
  await expect(store.addMessages([user("x")], { expectedRevision: earlier })).rejects.toMatchObject({
    code: "CONFLICT",
  });
  expect(await store.addMessages([user("i")], { expectedRevision: last })).toMatch(/\.9$/);
});

test("a commit alone writes the same row as before, without a list of earlier commits", async () => {
  const { driver, rows, before, release } = await busyThread();
  release();
  await before;
  await Promise.all([driver.commit(appendOf("a")), driver.commit(appendOf("b"))]);
  const [, ...heads] = rows.rowsOf(THREAD).map(({ head }) => Object.keys(JSON.parse(head)).join(""));
  // After the root. The first row has no row with messages below it.
  expect(heads).toEqual(["vtprinahodcskxuew", ...Array(3).fill("vtprinahodcsklxuew")]);
});

test("a row has at most 32 commits, and no more texts than fit", async () => {
  const { rows, driver, before, release, log } = await busyThread(new MemoryRecordLog(64 * 1024));
  const all = [before, ...Array.from({ length: MAX_GROUP + 3 }, (_, n) => driver.commit(appendOf(`m${n}`)))];
  const large = formatRecord("u", 0, `"${"x".repeat(20_000)}"`);
  for (let n = 0; n < 5; n++) all.push(driver.commit(appendOf(`large${n}`, { append: [large] })));
  release();
  const outcomes = await Promise.all(all);
  expect(outcomes.map(nOf)).toEqual(outcomes.map((_, index) => index + 2));
  expect(rowSizes(rows)).toEqual([0, 1, 1, 32, 5, 2, 1]);
  expect(log.count("insert")).toBe(4);
  const long = Array.from({ length: 4 }, (_, n) => `${n}`.repeat(1_024));
  await Promise.all(long.map((id) => driver.commit(appendOf(id))));
  expect(await idsIn(driver)).toHaveLength(1 + 1 + 35 + 5 + 4);
});

const others: [string, Partial<CommitRequest>][] = [
  ["sets metadata", { metadata: formatMetadataRecord('{"a":1}') }],
  ["removes the metadata", { metadata: null }],
  ["drops a message", { drop: 1 }],
  ["drops all messages", { drop: "all" }],
  ["expects a revision", { expectedRevision: "another" }],
  ["has no message", { append: [], ttlMs: 10_000 }],
  ["has another expiry", { ttlMs: 1_000_000 }],
];

test.each(others)("a commit that %s has a row of its own, at its place in the queue", async (_, change) => {
  const { driver, rows, before, release } = await busyThread();
  const requests = [appendOf("a"), appendOf("b"), appendOf("other", change), appendOf("c"), appendOf("d")];
  const waiting = requests.map((request) => driver.commit(request));
  release();
  const outcomes = await Promise.all([before, ...waiting]);
  const isRefused = change.expectedRevision !== undefined;
  expect(outcomes[3]?.outcome).toBe(isRefused ? "revision-conflict" : "committed");
  expect(outcomes.map(nOf)).toEqual(isRefused ? [2, 3, 4, 4, 5, 6] : [2, 3, 4, 5, 6, 7]);
  const sizes = rowSizes(rows).filter((size) => size > 0);
  expect(sizes).toEqual(isRefused ? [1, 1, 2, 2] : [1, 1, 2, 1, 2]);
});

test("a deletion between commits ends the thread between their rows", async () => {
  const { driver, before, release } = await busyThread();
  const writes = [
    driver.commit(appendOf("a")),
    driver.commit(appendOf("b")),
    driver.delete({ threadId: THREAD, operationId: "d", expectedRevision: undefined, signal: undefined }),
    driver.commit(appendOf("c", { createdAt: 5, updatedAt: 5 })),
    driver.commit(appendOf("e", { createdAt: 6, updatedAt: 7 })),
  ] as const;
  release();
  await before;
  expect(nOf(await writes[1])).toBe(4);
  expect((await writes[2]).outcome).toBe("deleted");
  expect([nOf(await writes[3]), nOf(await writes[4])]).toEqual([1, 2]);
  expect(await idsIn(driver)).toEqual(["c", "e"]);
  expect(await driver.read(whole)).toMatchObject({ createdAt: 5, updatedAt: 7 });
});

test("commits share no row while another process uploads a commit that is too large for one", async () => {
  const rows = new MemoryRecordLog(64 * 1024);
  const { driver, before, release } = await busyThread(rows);
  release();
  await before;
  const dying = processOn(rows);
  let inserts = 0;
  dying.log.before = async (request) => {
    if (isInsert(request) && ++inserts > 2) throw new Error("dead");
  };
  const large = formatRecord("u", 0, `"${"x".repeat(150_000)}"`);
  await expect(dying.driver.commit(appendOf("large", { append: [large] }))).rejects.toThrow("dead");
  const add = (count: number, name: string) =>
    Promise.all(Array.from({ length: count }, (_, n) => driver.commit(appendOf(`${name}${n}`))));
  const outcomes = await add(70, "m");
  expect(outcomes.map(nOf)).toEqual(outcomes.map((_, index) => index + 3));
  const alone = rowSizes(rows).filter((size) => size > 0);
  // After 64 commits the upload has ended.
  expect(alone.slice(0, 66)).toEqual(Array(66).fill(1));
  expect(alone.length).toBeLessThan(72);
  await add(9, "n");
  expect(rowSizes(rows).at(-1)).toBe(8);
  expect(await idsIn(driver)).toHaveLength(2 + 70 + 9);
});

/** As a store sends a commit whose operation id the caller gave. */
const byCaller = { isNewOperation: false, digest: "of the change" };

test("commits share a row whether the store or the caller made their ids", async () => {
  const { driver, rows, before, release } = await busyThread();
  const requests = [appendOf("a", byCaller), appendOf("b"), appendOf("c", byCaller)];
  const waiting = requests.map((request) => driver.commit(request));
  release();
  const outcomes = await Promise.all([before, ...waiting]);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array(4).fill("committed"));
  expect(rowSizes(rows)).toEqual([0, 1, 1, 3]);
  for (const on of [driver, processOn(rows).driver]) {
    const again = await Promise.all(requests.map((request) => on.commit({ ...request, ...byCaller })));
    expect(again.map(({ outcome }) => outcome)).toEqual(["repeated", "operation-conflict", "repeated"]);
    expect([again[0], again[2]].map((outcome) => outcome && nOf(outcome))).toEqual([3, 5]);
  }
});

test.each([
  ["by this process", true, true],
  ["by another process that this one knows of", false, true],
  ["by another process that this one does not know of", false, false],
] as const)(
  "C4 a commit that waits with others, but was made before %s, is not made twice",
  async (_, isHere, isKnown) => {
    const rows = new MemoryRecordLog();
    const elsewhere = processOn(rows).driver;
    const { driver, log } = processOn(rows);
    const made = [appendOf("a", byCaller), appendOf("b", byCaller)];
    await driver.commit(appendOf("first"));
    const making = async () => {
      for (const request of made) await (isHere ? driver : elsewhere).commit(request);
    };
    if (isKnown) await making();
    if (isKnown && !isHere) await driver.commit(appendOf("looks", { expectedRevision: "another" }));
    const held = holdBack(log, isInsert);
    const before = driver.commit(appendOf("before"));
    await held.isReached;
    const changed = appendOf("b", { ...byCaller, digest: "of another change" });
    const waiting = [appendOf("c", byCaller), made[0] as CommitRequest, changed, appendOf("d")].map(
      (request) => driver.commit(request),
    );
    if (!isKnown) await making();
    held.release();
    await before;
    expect((await Promise.all(waiting)).map(({ outcome }) => outcome)).toEqual([
      "committed",
      "repeated",
      "operation-conflict",
      "committed",
    ]);
    expect((await idsIn(driver)).toSorted()).toEqual(["a", "b", "before", "c", "d", "first"]);
  },
);
