import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { jsonCodec } from "@scrollback/store-core";
import {
  type CommitRequest,
  type Driver,
  formatRevision,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import { asking, whole } from "./changed-requests.ts";
import type { Mutant } from "./mutant.ts";

/** A driver that makes a commit in two steps. */
const twoSteps =
  (
    first: (request: CommitRequest) => Partial<CommitRequest>,
    isNeeded: (request: CommitRequest) => boolean,
  ) =>
  (driver: Driver) =>
    wrapDriver(driver, {
      async commit(request) {
        const outcome = await driver.commit({ ...request, ...first(request) });
        if (outcome.outcome !== "committed" || !isNeeded(request)) return outcome;
        await sleep(1);
        const second = { operationId: randomUUID(), expectedRevision: undefined, drop: 0, append: [] };
        return await driver.commit({ ...request, ...second });
      },
    });

/** The text of a value as JSON alone. */
function asJson(text: string): string {
  const json = (_: string, inner: unknown) => (typeof inner === "bigint" ? `${inner}` : inner);
  return JSON.stringify(jsonCodec.decode(text), json) ?? "null";
}

/** Drivers that break a promise in their writes. */
export const brokenCommits: readonly Mutant[] = [
  {
    name: "reverses a batch",
    breaks: "C1",
    driver: asking(({ append }) => ({ append: append.toReversed() })),
  },
  {
    name: "writes a batch message by message",
    breaks: "C2",
    driver: (driver) =>
      wrapDriver(driver, {
        async commit(request) {
          const { append, operationId } = request;
          for (const message of append.slice(0, append.length > 1 && append.length < 9 ? -1 : 0)) {
            const one = { append: [message], operationId: `${operationId}${randomUUID()}`.slice(-512) };
            await driver.commit({ ...request, ...one, metadata: undefined });
            await sleep(0);
          }
          return await driver.commit(append.length < 9 ? { ...request, append: append.slice(-1) } : request);
        },
      }),
  },
  {
    name: "applies a retried commit again",
    breaks: "C4",
    driver: asking(() => ({ operationId: randomUUID() })),
  },
  {
    name: "forgets operation ids on clear",
    breaks: "C4",
    driver(driver) {
      const clears = new Map<string, number>();
      return wrapDriver(driver, {
        commit(request) {
          const generation = clears.get(request.threadId) ?? 0;
          if (request.drop === "all" && request.metadata === null)
            clears.set(request.threadId, generation + 1);
          return driver.commit({ ...request, operationId: `${generation} ${request.operationId}` });
        },
      });
    },
  },
  {
    name: "ignores the change under a repeated operation id",
    breaks: "C4",
    driver: asking(() => ({ digest: "always the same" })),
  },
  {
    name: "remembers ten operation ids",
    breaks: "C4",
    driver(driver) {
      const commits = new Map<string, string[]>();
      return wrapDriver(driver, {
        commit(request) {
          const known = commits.get(request.threadId) ?? [];
          commits.set(
            request.threadId,
            [...known.filter((id) => id !== request.operationId), request.operationId].slice(-10),
          );
          return driver.commit(
            known.includes(request.operationId) ? request : { ...request, operationId: randomUUID() },
          );
        },
      });
    },
  },
  {
    name: "ignores expectedRevision",
    breaks: "C5",
    driver: asking(() => ({ expectedRevision: undefined })),
  },
  {
    name: "treats null as any revision",
    breaks: "C5",
    driver: asking(({ expectedRevision }) => ({ expectedRevision: expectedRevision ?? undefined })),
  },
  {
    name: "repeats revisions after expiry",
    breaks: "C5",
    driver: asking(() => ({ newIncarnation: "incarnation" })),
  },
  {
    name: "numbers revisions by its messages",
    breaks: "C5",
    driver(driver) {
      const numbered = <View extends ThreadView>(view: View): View => {
        const [incarnation = ""] = view.revision?.split(".") ?? [];
        return { ...view, revision: view.revision && formatRevision(incarnation, view.count) };
      };
      const look = async ({ threadId }: CommitRequest) =>
        numbered(await driver.read({ ...whole, threadId, signal: undefined }));
      return wrapDriver(driver, {
        read: async (request) => numbered(await driver.read(request)),
        async commit(request) {
          const isExpected = request.expectedRevision === (await look(request)).revision;
          const outcome = await driver.commit({
            ...request,
            expectedRevision: isExpected ? undefined : request.expectedRevision,
          });
          return { ...outcome, revision: (await look(request)).revision ?? "" };
        },
      });
    },
  },
  {
    name: "trims one too many",
    breaks: "C6",
    driver: asking(({ maxMessages }) => ({ maxMessages: maxMessages && Math.max(1, maxMessages - 1) })),
  },
  {
    name: "trims in a second step",
    breaks: "C6",
    driver: twoSteps(
      () => ({ maxMessages: undefined }),
      ({ maxMessages }) => maxMessages !== undefined,
    ),
  },
  {
    name: "cuts inside turns",
    breaks: "C6",
    driver: asking(() => ({ trimming: "exact" })),
  },
  {
    name: "trims only when messages are added",
    breaks: "C6",
    driver: asking(({ append, maxMessages }) => ({
      maxMessages: append.length > 0 ? maxMessages : undefined,
    })),
  },
  {
    name: "preserves only JSON values",
    breaks: "C8",
    driver: asking(({ append }) => ({
      append: append.map(({ text, ...rest }) => ({
        ...rest,
        text: text.startsWith("~") ? asJson(text) : text,
      })),
    })),
  },
  {
    name: "preserves only Latin letters",
    breaks: "C8",
    driver: asking(({ append }) => ({
      append: append.map((one) => ({ ...one, text: Buffer.from(one.text, "latin1").toString("latin1") })),
    })),
  },
  {
    name: "treats ttlMs as seconds",
    breaks: "C11",
    driver: asking(({ ttlMs }) => ({ ttlMs: ttlMs && ttlMs * 1_000 })),
  },
  {
    name: "counts the expiry from the first write",
    breaks: "C11",
    driver(driver) {
      const ends = new Map<string, number>();
      return asking(({ threadId, ttlMs }) => {
        if (ttlMs === undefined) return {};
        const end = ends.get(threadId);
        if (end !== undefined && end > Date.now()) return { ttlMs: Math.max(1, end - Date.now()) };
        ends.set(threadId, Date.now() + ttlMs);
        return {};
      })(driver);
    },
  },
  {
    name: "does not remove an expiry",
    breaks: "C11",
    driver(driver) {
      const ends = new Map<string, number>();
      return asking(({ threadId, ttlMs }) => {
        if (ttlMs !== undefined) ends.set(threadId, Date.now() + ttlMs);
        const end = ends.get(threadId);
        return end === undefined ? {} : { ttlMs: Math.max(1, end - Date.now()) };
      })(driver);
    },
  },
  {
    name: "never brings an expiry forward",
    breaks: "C11",
    driver(driver) {
      const ends = new Map<string, number>();
      return asking(({ threadId, ttlMs }) => {
        if (ttlMs === undefined) return {};
        const end = Math.max(ends.get(threadId) ?? 0, Date.now() + ttlMs);
        ends.set(threadId, end);
        return { ttlMs: end - Date.now() };
      })(driver);
    },
  },
  {
    name: "cuts messages at 400 KB",
    breaks: "C12",
    driver: asking(({ append }) => ({
      append: append.map((one) => ({ ...one, text: one.text.slice(0, 400_000) })),
    })),
  },
  {
    name: "fails when it is set up twice",
    breaks: "C14",
    driver(driver) {
      let isSetUp = false;
      return wrapDriver(driver, {
        async setup() {
          if (isSetUp) throw new Error("the table is there already");
          isSetUp = true;
        },
      });
    },
  },
  {
    name: "waits busily",
    breaks: "C15",
    driver(driver) {
      let commits = 0;
      return wrapDriver(driver, {
        async commit(request) {
          commits += 1;
          const end = performance.now() + (commits % 40 === 0 ? 300 : 0);
          while (performance.now() < end);
          return await driver.commit(request);
        },
      });
    },
  },
  {
    name: "reads, changes and writes back",
    breaks: "C17",
    driver: (driver) =>
      wrapDriver(driver, {
        async commit(request) {
          if (request.drop !== 0) return await driver.commit(request);
          const view = await driver.read({ ...whole, threadId: request.threadId, signal: undefined });
          await sleep(1);
          const append = [...view.entries, ...request.append];
          return await driver.commit({ ...request, drop: "all", append });
        },
      }),
  },
  {
    name: "keeps metadata after clear",
    breaks: "C18",
    driver: asking(({ drop, metadata }) => ({
      metadata: drop === "all" ? (metadata ?? undefined) : metadata,
    })),
  },
  {
    name: "sets metadata in a second step",
    breaks: "C18",
    driver: twoSteps(
      () => ({ metadata: undefined }),
      ({ metadata }) => metadata !== undefined,
    ),
  },
];
