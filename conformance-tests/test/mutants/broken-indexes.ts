import type { Driver, EntryIndex, EntryPut } from "@scrollback/store-core/driver";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import { loopbackHarness } from "../loopback/harness.ts";
import type { Mutant } from "./mutant.ts";

/** A driver that replaces some verbs of the index. */
const index = (change: (index: EntryIndex) => Partial<EntryIndex>) => (driver: Driver) => {
  const { index } = driver;
  if (!index) throw new Error("the driver has no index");
  const nearest = index.nearestEntries?.bind(index);
  const verbs: EntryIndex = {
    ...(nearest && { nearestEntries: (request) => nearest(request) }),
    insertEntry: (request) => index.insertEntry(request),
    updateEntry: (request) => index.updateEntry(request),
    removeEntry: (request) => index.removeEntry(request),
    entriesOf: (request) => index.entriesOf(request),
    listEntries: (request) => index.listEntries(request),
    listIndexes: (request) => index.listIndexes(request),
  };
  return wrapDriver(driver, { index: { ...verbs, ...change(index) } });
};

/** A driver that changes what is written. */
const putting = (change: (put: EntryPut) => Partial<EntryPut>) =>
  index((to) => ({
    insertEntry: (put) => to.insertEntry({ ...put, ...change(put) }),
    updateEntry: (put) => to.updateEntry({ ...put, ...change(put) }),
  }));

const breaks = "C23";

/** Drivers that break a promise of the index. */
export const brokenIndexes: readonly Mutant[] = [
  {
    name: "replaces an entry by an insert",
    breaks,
    driver: index((to) => ({
      async insertEntry(put) {
        await to.removeEntry(put);
        return await to.insertEntry(put);
      },
    })),
  },
  {
    name: "creates an entry by an update",
    breaks,
    driver: index((to) => ({
      async updateEntry(put) {
        const version = await to.updateEntry(put);
        if (version === null) await to.insertEntry(put);
        return version;
      },
    })),
  },
  {
    name: "replaces a newer version",
    breaks,
    driver: index((to) => ({
      async updateEntry(put) {
        const version = await to.updateEntry(put);
        if (version === null || version < put.version) return version;
        await to.removeEntry(put);
        await to.insertEntry(put);
        return version;
      },
    })),
  },
  {
    name: "tells the new version of an update",
    breaks,
    driver: index((to) => ({
      updateEntry: async (put) => ((await to.updateEntry(put)) === null ? null : put.version),
    })),
  },
  {
    name: "has one entry a key",
    breaks,
    driver: index((to) => ({
      async insertEntry(put) {
        return (await to.entriesOf(put)).length === 0 && (await to.insertEntry(put));
      },
    })),
  },
  {
    name: "keeps orders as integers",
    breaks,
    driver: putting(({ order }) => ({ order: Math.trunc(order) + 0 })),
  },
  { name: "never expires an entry", breaks, driver: putting(() => ({ expiresAt: undefined })) },
  {
    name: "pages by position",
    breaks,
    driver: index((to) => ({
      async listEntries(request) {
        const from = request.after === undefined ? 0 : Number(request.after);
        const all = await to.listEntries({ ...request, after: undefined, limit: 100 });
        const entries = all.entries.slice(from, from + request.limit);
        const more = all.entries.length > from + request.limit;
        return { entries, ...(more && { next: String(from + request.limit).padStart(16, "0") }) };
      },
    })),
  },
  {
    name: "sorts ties down as up",
    breaks,
    driver: index((to) => ({
      async listEntries(request) {
        const page = await to.listEntries(request);
        if (request.direction === "up") return page;
        const byKey = [...page.entries].sort(
          (one, other) => other.order - one.order || (one.key < other.key ? -1 : 1),
        );
        return { ...page, entries: byKey };
      },
    })),
  },
  {
    name: "lists an index after its last entry was removed",
    breaks,
    driver(driver) {
      const names = new Set<string>();
      return index((to) => ({
        async insertEntry(put) {
          names.add(put.index);
          return await to.insertEntry(put);
        },
        async listIndexes(request) {
          const page = await to.listIndexes(request);
          if (page.cursor !== undefined) return page;
          const more = [...names].filter(
            (name) => name.startsWith(request.prefix) && !page.names.includes(name),
          );
          return { names: [...page.names, ...more].slice(0, request.limit) };
        },
      }))(driver);
    },
  },
  {
    name: "leaves out an entry with an unreadable value",
    breaks,
    driver: index((to) => ({
      async listEntries(request) {
        const page = await to.listEntries(request);
        return {
          ...page,
          entries: page.entries.filter(({ value }) => /^["[{\dn]/.test(value) && value !== "{"),
        };
      },
    })),
  },
  {
    name: "searches the whole index",
    breaks,
    driver: index((to) => ({
      nearestEntries: async (request) =>
        (await to.nearestEntries?.({ ...request, after: "0", before: "g" })) ?? [],
    })),
  },
  {
    name: "keeps the vectors that an update replaces",
    breaks,
    driver: index((to) => ({ updateEntry: (put) => to.updateEntry({ ...put, vectors: undefined }) })),
  },
  {
    name: "compares only the first vector of an entry",
    breaks,
    driver: putting(({ vectors }) => ({ vectors: vectors?.slice(0, 1) })),
  },
  {
    name: "reads before it updates",
    breaks,
    createHarness: () =>
      loopbackHarness(
        index((to) => ({
          async updateEntry(put) {
            await to.entriesOf(put);
            return await to.updateEntry(put);
          },
        })) as never,
      ),
  },
  {
    name: "repeats an insert whose reply was lost",
    breaks,
    createHarness: () =>
      loopbackHarness(
        index((to) => ({
          insertEntry: (put) => to.insertEntry(put).catch(() => to.insertEntry(put)),
        })) as never,
      ),
  },
];
