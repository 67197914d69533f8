import type { SearchItem } from "@langchain/langgraph-checkpoint";
import type { StoreFactory } from "@scrollback/store-core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ScrollbackStore } from "../src/store/store.ts";
import { WordEmbeddings } from "./word-embeddings.ts";

const TIMEOUT_MS = 240_000;

const words = fc.array(fc.constantFrom("ant", "bee", "cat", "dog", "emu", "fox"), {
  minLength: 1,
  maxLength: 4,
});
const text = words.map((all) => all.join(" "));
const namespace = fc.array(fc.constantFrom("a", "b", "a-", "é"), { minLength: 1, maxLength: 2 });
const key = fc.constantFrom("k", "l", "m");
const paths = fc.constantFrom(undefined, undefined, false as const, ["title"], ["notes[*]"], ["absent"]);
const command = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      ...{ namespace, key, paths },
      value: fc.record({ title: text, notes: fc.array(text, { maxLength: 3 }), n: fc.nat(2) }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), namespace, key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
const search = fc.record({
  prefix: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
  query: text,
  filter: fc.constantFrom(undefined, { n: 1 }),
  limit: fc.integer({ min: 1, max: 8 }),
  offset: fc.integer({ min: 0, max: 3 }),
});

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = one.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
  return dot / Math.hypot(...one) / Math.hypot(...other);
}

/** Tests of searches by a query, on a backend with vectors. Each `openStores` opens another client of the same stores. */
export function declareVectorTests(name: string, openStores: () => Promise<StoreFactory>): void {
  describe(`vectors of the store on ${name}`, () => {
    test(
      "a search finds what a comparison with every item finds, after any sequence of calls",
      async () => {
        await using stores = await openStores();
        await stores.setup();
        let run = 0;
        await fc.assert(
          fc.asyncProperty(
            fc.array(command, { maxLength: 20 }),
            fc.array(search, { minLength: 1, maxLength: 4 }),
            async (commands, searches) => {
              const prefix = `vectors-${++run}`;
              const embeddings = new WordEmbeddings();
              const index = { dims: 8, embeddings, fields: ["title", "notes[*]"] };
              const open = () => new ScrollbackStore({ stores, prefix, index });
              let store = open();
              const model = new Map<string, { namespace: string[]; n: number; vectors: number[][] }>();
              for (const one of commands) {
                if (one.kind === "reopen") store = open();
                else {
                  const place = JSON.stringify([one.namespace, one.key]);
                  if (one.kind === "delete") {
                    await store.delete(one.namespace, one.key);
                    model.delete(place);
                  } else {
                    const { namespace, value, paths } = one;
                    await store.put(namespace, one.key, value, paths);
                    const all: Record<string, string[]> = { title: [value.title], "notes[*]": value.notes };
                    const texts = (paths === false ? [] : (paths ?? index.fields)).flatMap(
                      (path) => all[path] ?? [],
                    );
                    const vectors = texts.map((text) => embeddings.vectorOf(text));
                    model.set(place, { namespace, n: value.n, vectors });
                  }
                }
              }
              for (const { prefix, query, filter, limit, offset } of searches) {
                const likeness = ({ vectors }: { vectors: number[][] }) =>
                  Math.max(...vectors.map((one) => cosine(embeddings.vectorOf(query), one)));
                const expected = [...model.values()]
                  .filter(({ vectors }) => vectors.length > 0)
                  .filter(({ namespace }) => prefix.every((label, depth) => namespace[depth] === label))
                  .filter(({ n }) => filter === undefined || n === filter.n)
                  .map(likeness)
                  .sort((one, other) => other - one)
                  .slice(offset, offset + limit);
                const options = { query, limit, offset, ...(filter && { filter }) };
                const found = await store.search(prefix, options);
                expect(found.map(({ score = 2 }) => score)).toEqual(
                  expected.map((score) => expect.closeTo(score, 5)),
                );
                const placeOf = ({ namespace, key }: SearchItem) => JSON.stringify([namespace, key]);
                expect(new Set(found.map(placeOf)).size).toBe(found.length);
                for (const item of found)
                  expect(item.score).toBeCloseTo(likeness(model.get(placeOf(item)) ?? { vectors: [] }), 5);
              }
            },
          ),
          { numRuns: name === "memory" ? 60 : 15 },
        );
      },
      TIMEOUT_MS,
    );

    test(
      "an item that has expired is not found; a read that begins its time again embeds nothing",
      async () => {
        await using stores = await openStores();
        const embeddings = new WordEmbeddings();
        const index = { dims: 8, embeddings };
        const open = (ttlMs: number) =>
          new ScrollbackStore({ stores, prefix: "vectors-expiry", ttlMs, index });
        await using second = open(1_000);
        await using minute = open(60_000);
        await using hour = open(3_600_000);
        await second.put(["a"], "gone", { text: "cat" });
        await minute.put(["a"], "kept", { text: "cat" });
        // It has much less than the longer time left, so that this read begins it.
        expect(await hour.get(["a"], "kept")).toMatchObject({ value: { text: "cat" } });
        await using reader = new ScrollbackStore({
          ...{ stores, prefix: "vectors-expiry", refreshOnRead: false, index },
        });
        await expect
          .poll(async () => (await reader.search(["a"], { query: "cat" })).map(({ key }) => key), {
            timeout: TIMEOUT_MS / 2,
          })
          .toEqual(["kept"]);
        await hour.flush();
        expect(embeddings.documents).toHaveLength(2);
      },
      TIMEOUT_MS,
    );
  });
}
