import { expect, test } from "vitest";
import { addEach, contentsOf, uniformScene, user, verbsOf } from "./scenes.ts";

test("reading a whole thread takes few requests for small commits, and few rows per request for large commits", async () => {
  /** The limits of the requests of a first read, and of another one after three more commits. */
  const asked = async (commits: number, content: string) => {
    const { open } = uniformScene();
    const { store } = open();
    for (let n = 0; n < commits; n++) await store.addMessages([{ role: "user", content }]);
    const reader = open();
    const limits: number[] = [];
    reader.log.before = async (request) => {
      if (request.verb === "read") limits.push(request.limit);
    };
    expect(await reader.store.listMessages()).toHaveLength(commits);
    const first = limits.splice(0);
    for (let n = 0; n < 3; n++) await store.addMessages([{ role: "user", content }]);
    expect(await reader.store.listMessages()).toHaveLength(commits + 3);
    return { first, second: limits };
  };
  const small = await asked(1_000, "small");
  expect(small.first).toHaveLength(2);
  expect(small.first[0]).toBeLessThanOrEqual(257);
  expect(small.second).toHaveLength(1);
  expect(small.second[0]).toBeLessThanOrEqual(1_010);
  const large = await asked(600, "x".repeat(20_000));
  expect(Math.max(...large.first, ...large.second)).toBeLessThanOrEqual(260);
});

test("a commit is one insert, reading the newest messages is one read, and a first write one read more", async () => {
  const { open } = uniformScene();
  const a = open();
  await addEach(a.store, 200, "a");
  // The first commit also inserts a root.
  expect(verbsOf(a.log)).toEqual(["read", ...Array<string>(201).fill("insert")]);
  const b = open();
  await b.store.addMessages([user("b")]);
  expect(verbsOf(b.log)).toEqual(["read", "insert"]);
  await b.store.listMessages({ limit: 20 });
  expect(verbsOf(b.log)).toEqual(["read", "insert", "read"]);
});

test.each([
  ["", user],
  [" without a user message", (content: string) => ({ role: "assistant", content }) as const],
])(
  "a first write to a trimmed thread%s is one read more, and two with over 64 kept commits",
  async (_, message) => {
    for (const [maxMessages, reads] of [
      [40, 1],
      [200, 2],
      [5_000, 2],
    ] as const) {
      const { open } = uniformScene({ maxMessages });
      const a = open();
      for (let n = 0; n < maxMessages + 100; n++) await a.store.addMessages([message(`${n}`)]);
      const b = open();
      await b.store.addMessages([message("b")]);
      expect(b.log.count("read")).toBe(reads);
      expect(b.log.requests.at(-1)?.verb).toBe("insert");
      expect(await contentsOf(b.store)).toHaveLength(maxMessages);
    }
  },
);

test("a writer that lost one race continues from the winning row without a read", async () => {
  const { open } = uniformScene();
  const [a, b] = [open(), open()];
  await addEach(a.store, 3, "a");
  await addEach(b.store, 3, "b");
  a.log.requests.length = 0;
  // Three rows of b: the refused insert returns the first one, and a read finds the end.
  await addEach(a.store, 1, "c");
  expect(verbsOf(a.log)).toEqual(["insert", "insert", "read", "insert"]);
  b.log.requests.length = 0;
  await addEach(b.store, 1, "d");
  expect(verbsOf(b.log)).toEqual(["insert", "insert"]);
  expect(await contentsOf(b.store)).toEqual(["a0", "a1", "a2", "b0", "b1", "b2", "c0", "d0"]);
});

test("a writer that catches up reads only the newest rows, at any thread length", async () => {
  const { open } = uniformScene();
  const [a, b] = [open(), open()];
  await addEach(a.store, 200, "a");
  const looks: number[] = [];
  const add = async (count: number) => {
    await addEach(b.store, count, "b");
    a.log.before = async (request) => {
      if (request.verb === "read") looks.push(request.limit);
    };
    await addEach(a.store, 1, "c");
    a.log.before = () => undefined;
    return looks.splice(0);
  };
  expect(await add(3)).toEqual([8]);
  // With more rows, it reads as many as a first write needs.
  expect(await add(30)).toEqual([8, 80]);
  expect(await contentsOf(a.store)).toHaveLength(200 + 3 + 1 + 30 + 1);
});

test("a trimmed thread takes one amendment every 32 commits", async () => {
  const { open } = uniformScene({ maxMessages: 10 });
  const { log, store } = open();
  await addEach(store, 20, "a");
  log.requests.length = 0;
  await addEach(store, 96, "b");
  expect(log.count("insert")).toBe(96);
  expect(log.count("amend")).toBe(3);
  expect(log.count("read")).toBe(0);
});

test("an amendment changes each trimmed row once", async () => {
  const { open } = uniformScene({ maxMessages: 100 });
  const { log, store } = open();
  await addEach(store, 200, "a");
  const amended: { rows: number; change: string[] }[] = [];
  log.before = async (request) => {
    if (request.verb !== "amend") return;
    for (const { from, to, ...change } of request.amendments)
      amended.push({ rows: to - from, change: Object.keys(change) });
  };
  await addEach(store, 96, "b");
  expect(amended).toEqual(Array(3).fill({ rows: 32, change: ["blank", "expiresAt"] }));
});

test("batches that trim rows of single messages read 512 heads at once, and texts only after a drop", async () => {
  const { open } = uniformScene({ maxMessages: 2_000 });
  const { log, store } = open();
  await addEach(store, 2_000, "a");
  const batch = (name: string) =>
    store.addMessages(Array.from({ length: 20 }, (_, index) => user(`${name}${index}`)));
  await batch("first");
  const looks: [limit: number, heads: boolean][] = [];
  log.before = async (request) => {
    if (request.verb === "read") looks.push([request.limit, request.heads]);
  };
  for (let at = 0; at < 50; at++) await batch(`b${at}-`);
  expect(looks.length).toBeLessThanOrEqual(2);
  for (const look of looks) expect(look).toEqual([512, true]);
  await store.popMessage();
  looks.length = 0;
  for (let at = 0; at < 30; at++) await batch(`c${at}-`);
  expect(looks.some(([limit, heads]) => limit === 96 && heads === false)).toBe(true);
  expect(await contentsOf(store)).toHaveLength(2_000);
});

test("an append to a long thread sends the same requests as one to a short thread", async () => {
  const { open } = uniformScene();
  const { log, store } = open();
  for (let batch = 0; batch < 50; batch++) {
    await store.addMessages(Array.from({ length: 100 }, (_, index) => user(`${batch}-${index}`)));
  }
  log.requests.length = 0;
  await store.addMessages([user("one more")]);
  expect(verbsOf(log)).toEqual(["insert"]);
  const sizes = (await contentsOf(store)).length;
  expect(sizes).toBe(5_001);
});

test("a page of a long thread is read from the end of the previous page", async () => {
  const { open } = uniformScene();
  const { log, store } = open();
  await addEach(store, 3_000, "m");
  let page = await store.read({ limit: 20 });
  const seen = page.entries.map((entry) => entry.sequence);
  for (let pages = 0; pages < 30 && page.older; pages++) {
    log.requests.length = 0;
    page = await store.read({ limit: 20, before: page.older });
    expect(log.requests.length).toBeLessThanOrEqual(2);
    seen.unshift(...page.entries.map((entry) => entry.sequence));
  }
  expect(seen).toEqual(Array.from({ length: 620 }, (_, index) => 2_381 + index));
  log.requests.length = 0;
  const first = await store.read({ limit: 20, before: (await store.read({ limit: 0 })).older ?? "" });
  expect(first.entries).toHaveLength(20);
});
