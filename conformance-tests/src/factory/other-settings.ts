import { randomUUID } from "node:crypto";
import { StoreError, type StoreFactory, type StoreIndex } from "@scrollback/store-core";
import { expect, onTestFinished, test } from "vitest";
import { textsIn, user } from "../messages/messages.ts";

/** A client that a user made, and options that pass it to the adapter. */
export interface HandedIn<Options> {
  readonly options: Options;
  /** Sends a request with the client itself. Rejects after the client is closed. */
  use(): Promise<unknown>;
  close(): unknown;
}

/** Each is altered by some setting: an escape that is off, another character set, conversion of what looks like a value. */
const texts = [
  ...["it's \"quoted\" with \\ and \\' and `", "x', (SELECT 12345)) -- ", "lines\r\nand\ttabs and \0"],
  ...["é ü ÿ, 日本, 😀, \u2028", "2030-01-01T00:00:00.000Z", "12345678901234567890", ""],
];

/**
 * Declares a test for each client whose settings change how values are sent or read: what its stores write must be what the
 * stores of the usual client read, and the other way round.
 */
export function declareOtherSettings<Options>(
  create: (options: Options) => StoreFactory,
  handIn: () => Promise<HandedIn<Options>>,
  settings: Readonly<Record<string, () => Promise<HandedIn<Options>>>>,
): void {
  const open = async (make: () => Promise<HandedIn<Options>>) => {
    const { options, close } = await make();
    const stores = create(options);
    onTestFinished(async () => {
      await stores.close();
      await close();
    });
    return stores;
  };

  test.each(Object.entries(settings))(
    "a client with %s writes and reads the same values",
    async (_, make) => {
      const [usual, other] = await Promise.all([open(handIn), open(make)]);
      await usual.setup();
      await other.setup();
      for (const [writing, reading] of [
        [other, usual],
        [usual, other],
      ] as const) {
        const store = writing.open();
        const read = reading.open(store.threadId);
        const operationId = "the same";
        const revision = await store.commit({ append: texts.map(user) }, { operationId });
        await store.commit({ append: [user("second")], metadata: texts }, { expectedRevision: revision });
        expect(await textsIn(read)).toEqual([...texts, "second"]);
        const page = await read.read();
        expect(page).toEqual(await store.read());
        expect(page.metadata).toEqual(texts);
        expect(await read.commit({ append: texts.map(user) }, { operationId })).toBe(revision);
        expect((await read.popMessage())?.content).toBe("second");
        await read.commit({ drop: 1, append: [user("third")] });
        expect((await textsIn(store)).at(-1)).toBe("third");
        const [listed] = (await reading.listThreads({ prefix: store.threadId })).threads;
        expect(listed).toMatchObject({
          threadId: store.threadId,
          count: page.count - 1,
          createdAt: page.createdAt,
        });
        await reading.deleteThread(store.threadId);
        expect((await store.read()).revision).toBeNull();
        await expectEntries(writing, reading);
        const trimmed = writing.open(undefined, { maxMessages: 5 });
        for (let number = 1; number <= 40; number++) await trimmed.addMessages([user(`${number}`)]);
        const rest = await reading.open(trimmed.threadId).read();
        expect(rest).toEqual(await trimmed.read());
        expect(rest.entries.map(({ message }) => message.content)).toEqual(["36", "37", "38", "39", "40"]);
        await trimmed.replaceMessages([user("replaced")]);
        expect(await textsIn(reading.open(trimmed.threadId))).toEqual(["replaced"]);
        await trimmed.clear();
        expect(await textsIn(reading.open(trimmed.threadId))).toEqual([]);
      }
    },
  );
}

/** Writes entries of an index by one client, and reads them by another. */
async function expectEntries(writing: StoreFactory, reading: StoreFactory): Promise<void> {
  const name = randomUUID();
  const index = indexOf(writing, name);
  const read = indexOf(reading, name);
  if (!index || !read) return;
  const later = Date.now() + 1e8;
  const content = { version: 1, order: -1.5, value: texts, expiresAt: later };
  const place = { key: "k", id: "1" };
  expect(await index.insert(place, content)).toBe(true);
  expect(await read.insert(place, content)).toBe(false);
  expect(await index.insert({ key: "l", id: "1" }, { version: 1, order: 2 ** 40, value: null })).toBe(true);
  expect(await index.update(place, { ...content, version: 2 })).toBe(1);
  expect(await index.update({ key: "none", id: "1" }, content)).toBeNull();
  const first = { ...place, ...content, version: 2 };
  const second = { key: "l", id: "1", version: 1, order: 2 ** 40, value: null };
  expect(await read.entriesOf("k")).toEqual([first]);
  expect((await read.list()).entries).toEqual([first, second]);
  const { entries, cursor = "" } = await read.list({ direction: "down", limit: 1 });
  expect(entries).toEqual([second]);
  expect((await read.list({ direction: "down", cursor })).entries).toEqual([first]);
  const names = new Set<string>();
  let next: string | undefined;
  do {
    const page = await reading.listIndexes({ prefix: name, ...(next !== undefined && { cursor: next }) });
    for (const one of page.names) names.add(one);
    next = page.cursor;
  } while (next !== undefined);
  expect([...names]).toEqual([name]);
  expect([await read.remove(place), await index.remove(place)]).toEqual([true, false]);
  await index.remove({ key: "l", id: "1" });
}

/** Undefined for a backend without an index. */
function indexOf(stores: StoreFactory, name: string): StoreIndex | undefined {
  try {
    return stores.index(name);
  } catch (error) {
    if (StoreError.is(error, "UNSUPPORTED")) return undefined;
    throw error;
  }
}
