import type { Driver, ListRequest, ThreadListing, ThreadView } from "@scrollback/store-core/driver";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import { loopbackHarness } from "../loopback/harness.ts";
import { asking } from "./changed-requests.ts";
import type { Mutant } from "./mutant.ts";

/** A driver that changes the request of a listing. */
const listing = (change: (request: ListRequest) => Partial<ListRequest>) => (driver: Driver) =>
  wrapDriver(driver, { list: (request) => driver.list({ ...request, ...change(request) }) });

/** A driver that changes the result of a read. */
const showing = (change: (view: ThreadView) => Partial<ThreadView>) => (driver: Driver) =>
  wrapDriver(driver, {
    async read(request) {
      const view = await driver.read(request);
      return view.revision === null ? view : { ...view, ...change(view) };
    },
  });

/** A driver that records the threads that it has written, and adds some of them to the end of each listing. */
const alsoListing =
  (isShown: (id: string, driver: Driver) => Promise<boolean>, forgetsDeleted: boolean) =>
  (driver: Driver) => {
    const written = new Set<string>();
    return wrapDriver(driver, {
      async commit(request) {
        written.add(request.threadId);
        return await driver.commit(request);
      },
      async delete(request) {
        if (forgetsDeleted) written.delete(request.threadId);
        return await driver.delete(request);
      },
      async list(request) {
        const page = await driver.list(request);
        if (page.cursor !== undefined) return page;
        const more: ThreadListing["threads"][number][] = [];
        for (const threadId of written) {
          const isThere = page.threads.some((thread) => thread.threadId === threadId);
          if (
            isThere ||
            !threadId.startsWith(request.prefix) ||
            page.threads.length + more.length >= request.limit
          )
            continue;
          if (await isShown(threadId, driver)) more.push({ threadId, count: 0, createdAt: 0, updatedAt: 0 });
        }
        return { threads: [...page.threads, ...more] };
      },
    });
  };

const isGone = async (threadId: string, driver: Driver) => {
  const nothing = { limit: 0, before: undefined, after: undefined, metadata: false, signal: undefined };
  return (await driver.read({ threadId, ...nothing })).revision === null;
};

/** The drivers of all namespaces of a mutant. */
const namespaces: Driver[] = [];

/** Drivers that break a promise about times and listings. */
export const brokenListings: readonly Mutant[] = [
  {
    name: "returns the reader's times",
    breaks: "C19",
    driver: showing(({ entries }) => ({
      createdAt: Date.now(),
      updatedAt: Date.now(),
      entries: entries.map((entry) => ({ ...entry, createdAt: Date.now() })),
    })),
  },
  {
    name: "ignores the given time of a write",
    breaks: "C19",
    driver: asking(({ append }) => ({
      createdAt: Date.now(),
      updatedAt: Date.now(),
      append: append.map((message) => ({ ...message, createdAt: Date.now() })),
    })),
  },
  {
    name: "sets createdAt with each commit",
    breaks: "C19",
    driver: showing(({ updatedAt }) => ({ createdAt: updatedAt })),
  },
  {
    name: "orders by time",
    breaks: "C19",
    driver: showing(({ entries }) => {
      const sorted = entries.toSorted((a, b) => a.createdAt - b.createdAt);
      return {
        entries: sorted.map((entry, index) => ({ ...entry, sequence: entries[index]?.sequence ?? 0 })),
      };
    }),
  },
  {
    name: "omits the expiry of a thread",
    breaks: "C19",
    driver: showing(() => ({ expiresAt: undefined })),
  },
  {
    name: "keeps the createdAt of a deleted thread",
    breaks: "C19",
    driver(driver) {
      const begun = new Map<string, number>();
      return asking(({ threadId, createdAt }) => {
        begun.set(threadId, begun.get(threadId) ?? createdAt);
        return { createdAt: begun.get(threadId) ?? createdAt };
      })(driver);
    },
  },
  {
    name: "loses a thread at the end of each page",
    breaks: "C20",
    driver: (driver) =>
      wrapDriver(driver, {
        async list(request) {
          const page = await driver.list({ ...request, limit: request.limit + 1 });
          return { ...page, threads: page.threads.slice(0, request.limit) };
        },
      }),
  },
  {
    name: "lists expired threads",
    breaks: "C20",
    driver: alsoListing(isGone, true),
  },
  {
    name: "lists deleted threads",
    breaks: "C20",
    driver: alsoListing(isGone, false),
  },
  {
    name: "treats a prefix as a pattern",
    breaks: "C20",
    driver: (driver) =>
      wrapDriver(driver, {
        async list(request): Promise<ThreadListing> {
          const [literal = ""] = request.prefix.split(/[%_]/);
          const pattern = request.prefix
            .replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
            .replaceAll("%", ".*")
            .replaceAll("_", ".");
          const page = await driver.list({ ...request, prefix: literal });
          const fits = new RegExp(`^${pattern}`, "su");
          return { ...page, threads: page.threads.filter(({ threadId }) => fits.test(threadId)) };
        },
      }),
  },
  {
    name: "ignores the last character of a prefix",
    breaks: "C20",
    driver: listing(({ prefix }) => ({ prefix: [...prefix].slice(0, -1).join("") })),
  },
  {
    name: "lists the threads of other namespaces",
    breaks: "C20",
    driver(driver) {
      namespaces.push(driver);
      return wrapDriver(driver, {
        async list(request) {
          const page = await driver.list(request);
          if (page.cursor !== undefined) return page;
          const others = namespaces.filter((other) => other !== driver);
          const listings = await Promise.all(
            others.map((other) => other.list({ ...request, limit: 1_000, cursor: undefined })),
          );
          const more = listings.flatMap(({ threads }) => threads);
          return { threads: [...page.threads, ...more].slice(0, request.limit) };
        },
      });
    },
  },
  {
    name: "returns a stale listing",
    breaks: "C20",
    driver(driver) {
      const seen = new Map<string, { until: number; page: Promise<ThreadListing> }>();
      return wrapDriver(driver, {
        list(request) {
          const key = JSON.stringify({ ...request, signal: undefined });
          const known = seen.get(key);
          if (known && known.until > performance.now()) return known.page;
          const page = driver.list(request);
          seen.set(key, { until: performance.now() + 20, page });
          return page;
        },
      });
    },
  },
  {
    name: "lists no thread without messages",
    breaks: "C20",
    driver: (driver) =>
      wrapDriver(driver, {
        async list(request) {
          const page = await driver.list(request);
          return { ...page, threads: page.threads.filter(({ count }) => count > 0) };
        },
      }),
  },
  {
    name: "lists threads without their metadata",
    breaks: "C20",
    driver: (driver) =>
      wrapDriver(driver, {
        async list(request) {
          const page = await driver.list(request);
          return { ...page, threads: page.threads.map(({ metadata: _, ...thread }) => thread) };
        },
      }),
  },
  {
    name: "treats an invalid cursor as the beginning",
    breaks: "C20",
    driver: listing(({ cursor }) => (cursor && !/^\d{1,15}$/.test(cursor) ? { cursor: undefined } : {})),
  },
  {
    name: "reads all threads for each page",
    breaks: "C20",
    createHarness: () =>
      loopbackHarness((driver) =>
        wrapDriver(driver, {
          async list(request) {
            const all = await driver.list({ ...request, limit: 1_000, cursor: undefined });
            for (const { threadId } of all.threads) await isGone(threadId, driver);
            return await driver.list(request);
          },
        }),
      ),
    says: /requests of a page of 5; look at `list` of the driver/,
  },
  {
    name: "returns an empty listing in an outage",
    breaks: "C20",
    createHarness: () =>
      loopbackHarness((driver) =>
        wrapDriver(driver, {
          list: (request) =>
            driver.list(request).catch((error: unknown) => {
              if (driver.classifyError(error)) return { threads: [] };
              throw error;
            }),
        }),
      ),
  },
];
