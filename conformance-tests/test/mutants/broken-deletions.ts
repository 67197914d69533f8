import { randomUUID } from "node:crypto";
import { type CommitRequest, type Driver, MemoryDriver, NO_THREAD } from "@scrollback/store-core/driver";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import { loopbackHarness } from "../loopback/harness.ts";
import { memoryHarness } from "../memory-harness.ts";
import { asking } from "./changed-requests.ts";
import type { Mutant } from "./mutant.ts";

/** A driver whose capabilities declare slow deletions, so that no test waits for their completion. */
const slowlyForgetting = (driver: Driver, instead: Partial<Driver>): Driver =>
  wrapDriver(driver, {
    capabilities: { ...driver.capabilities, deletedWithinMs: 86_400_000 },
    ...instead,
  });

/** A driver that changes a commit, depending on the number of deletions of its thread. */
const afterDeletions =
  (change: (request: CommitRequest, deletions: number) => Partial<CommitRequest>) => (driver: Driver) => {
    const deletions = new Map<string, number>();
    return slowlyForgetting(driver, {
      commit: (request) =>
        driver.commit({ ...request, ...change(request, deletions.get(request.threadId) ?? 0) }),
      async delete(request) {
        deletions.set(request.threadId, (deletions.get(request.threadId) ?? 0) + 1);
        return await driver.delete(request);
      },
    });
  };

const isCopy = ({ operationId }: CommitRequest) => operationId.startsWith("copy:");
const progressIn = ({ metadata }: CommitRequest) =>
  metadata?.includes("scrollback.copy") ? metadata : undefined;

/** Drivers that break a promise about deletions and copies. */
export const brokenDeletions: readonly Mutant[] = [
  {
    name: "hides a deleted thread and keeps its content",
    breaks: "C21",
    driver(driver) {
      const hidden = new Set<string>();
      return slowlyForgetting(driver, {
        async commit(request) {
          if (hidden.delete(request.threadId))
            await driver.delete({ ...request, operationId: randomUUID(), expectedRevision: undefined });
          return await driver.commit(request);
        },
        read: async (request) => (hidden.has(request.threadId) ? NO_THREAD : await driver.read(request)),
        async delete(request) {
          const { expectedRevision, threadId } = request;
          const { revision } = await driver.read({ ...request, ...nothing });
          const current = hidden.has(threadId) ? null : revision;
          if (expectedRevision !== undefined && expectedRevision !== current)
            return { outcome: "revision-conflict", revision: current };
          hidden.add(threadId);
          return { outcome: "deleted" };
        },
        async list(request) {
          const page = await driver.list(request);
          return { ...page, threads: page.threads.filter(({ threadId }) => !hidden.has(threadId)) };
        },
      });
    },
  },
  {
    name: "clears a thread instead of deleting it",
    breaks: "C21",
    driver: (driver) =>
      slowlyForgetting(driver, {
        async delete(request) {
          const rest = { append: [], maxMessages: undefined, trimming: "turns", ttlMs: undefined } as const;
          const times = { createdAt: 0, updatedAt: 0 };
          const own = { operationId: randomUUID(), digest: "", newIncarnation: randomUUID() };
          const change = { drop: "all", metadata: null } as const;
          const cleared = await driver.commit({ ...request, ...own, ...change, ...rest, ...times });
          return cleared.outcome === "revision-conflict"
            ? { outcome: "revision-conflict", revision: cleared.revision }
            : { outcome: "deleted" };
        },
      }),
  },
  {
    name: "deletes at any revision",
    breaks: "C21",
    driver: (driver) =>
      slowlyForgetting(driver, {
        delete: (request) => driver.delete({ ...request, expectedRevision: undefined }),
      }),
  },
  {
    name: "repeats the revisions of a deleted thread",
    breaks: "C21",
    driver(driver) {
      const incarnations = new Map<string, string>();
      return afterDeletions(({ threadId, newIncarnation }) => {
        incarnations.set(threadId, incarnations.get(threadId) ?? newIncarnation);
        return { newIncarnation: incarnations.get(threadId) ?? newIncarnation };
      })(driver);
    },
  },
  {
    name: "forgets a thread's operations on deletion",
    breaks: "C21",
    driver: afterDeletions(({ operationId }, deletions) => ({ operationId: `${operationId} ${deletions}` })),
  },
  {
    name: "deletes again on a retried deletion",
    breaks: "C21",
    createHarness: () =>
      loopbackHarness((driver) =>
        slowlyForgetting(driver, {
          delete: (request) => driver.delete({ ...request, operationId: randomUUID() }),
        }),
      ),
  },
  {
    name: "keeps the metadata of a deleted thread",
    breaks: "C21",
    driver(driver) {
      const kept = new Map<string, string>();
      return slowlyForgetting(driver, {
        async commit(request) {
          const metadata = request.metadata ?? kept.get(request.threadId);
          return await driver.commit({ ...request, metadata });
        },
        async delete(request) {
          const { metadata } = await driver.read({ ...request, ...nothing, metadata: true });
          const { outcome, ...rest } = await driver.delete(request);
          if (outcome === "deleted" && metadata !== undefined) kept.set(request.threadId, metadata);
          return { outcome, ...rest } as Awaited<ReturnType<Driver["delete"]>>;
        },
      });
    },
  },
  {
    name: "leaves data of a deleted thread",
    breaks: "C21",
    async createHarness() {
      const memory = new MemoryDriver();
      const capabilities = { ...memory.capabilities, deletedWithinMs: 0 };
      const harness = await memoryHarness(wrapDriver(memory, { capabilities }));
      const dump = async (threadId: string) => (await harness.raw.dump(threadId)) || "a key";
      return { ...harness, raw: { ...harness.raw, dump } };
    },
  },
  {
    name: "ignores an expiry without a change",
    breaks: "C21",
    driver: (driver) =>
      slowlyForgetting(driver, {
        commit: (request) => {
          const isEmpty = request.drop === 0 && request.append.length === 0 && request.metadata === undefined;
          return driver.commit(isEmpty ? { ...request, ttlMs: undefined } : request);
        },
      }),
  },
  {
    name: "stores earlier progress of an unfinished copy",
    breaks: "C22",
    driver(driver) {
      const before = new Map<string, string>();
      return asking((request) => {
        const progress = progressIn(request);
        if (progress === undefined) return {};
        const metadata = before.get(request.threadId) ?? progress;
        before.set(request.threadId, progress);
        return { metadata };
      })(driver);
    },
  },
  {
    name: "compares no revisions during a copy",
    breaks: "C22",
    driver: asking((request) =>
      progressIn(request) || isCopy(request) ? { expectedRevision: undefined } : {},
    ),
  },
  {
    name: "forgets that a copy was made",
    breaks: "C22",
    driver: asking((request) => (isCopy(request) ? { operationId: randomUUID() } : {})),
  },
  {
    name: "sets the times of the copy on a copied thread",
    breaks: "C22",
    driver: asking((request) =>
      isCopy(request) || progressIn(request) ? { createdAt: Date.now(), updatedAt: Date.now() } : {},
    ),
  },
  {
    name: "makes a copy in two steps",
    breaks: "C22",
    driver: (driver) =>
      wrapDriver(driver, {
        async commit(request) {
          if (!isCopy(request) || request.append.length < 2) return await driver.commit(request);
          const half = { append: request.append.slice(0, 1), operationId: `half ${randomUUID()}` };
          const { outcome, revision } = await driver.commit({ ...request, ...half });
          if (outcome !== "committed") return { outcome, revision } as Awaited<ReturnType<Driver["commit"]>>;
          await new Promise((resolve) => setTimeout(resolve, 5));
          return await driver.commit({
            ...request,
            append: request.append.slice(1),
            expectedRevision: revision,
          });
        },
      }),
  },
];

const nothing = { limit: 0, before: undefined, after: undefined, metadata: false, signal: undefined };
