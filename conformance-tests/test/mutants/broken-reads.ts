import { setTimeout as sleep } from "node:timers/promises";
import { type ChatMessage, jsonCodec } from "@scrollback/store-core";
import type { Driver, MessageRecord } from "@scrollback/store-core/driver";
import { wrapDriver } from "../../src/wrapped-driver.ts";
import { asking, reading, whole } from "./changed-requests.ts";
import type { Mutant } from "./mutant.ts";

const ownTime = (text: string) => Number((jsonCodec.decode(text) as ChatMessage).createdAt ?? 0);

/** Drivers that break a promise in what they read, or in which thread they read. */
export const brokenReads: readonly Mutant[] = [
  {
    name: "orders by the messages' own clocks",
    breaks: "C1",
    driver: (driver) =>
      wrapDriver(driver, {
        async read(request) {
          const view = await driver.read(request);
          if (view.entries.some(({ text }) => !text.includes('"createdAt"'))) return view;
          const sorted = view.entries.toSorted((a, b) => ownTime(a.text) - ownTime(b.text));
          const sequences = view.entries.map(({ sequence }) => sequence);
          return {
            ...view,
            entries: sorted.map((entry, index) => ({ ...entry, sequence: sequences[index] ?? 0 })),
          };
        },
      }),
  },
  {
    name: "returns a stale read",
    breaks: "C3",
    driver(driver) {
      const seen = new Map<string, { until: number; view: ReturnType<Driver["read"]> }>();
      return wrapDriver(driver, {
        read(request) {
          const key = JSON.stringify({ ...request, limit: String(request.limit), signal: undefined });
          const known = seen.get(key);
          if (known && known.until > performance.now()) return known.view;
          const view = driver.read(request);
          seen.set(key, { until: performance.now() + 5, view });
          return view;
        },
      });
    },
  },
  {
    name: "reads past the newest commit",
    breaks: "C2",
    driver(driver) {
      const coming = new Map<string, MessageRecord>();
      return wrapDriver(driver, {
        async commit(request) {
          const [message] = request.append;
          if (message) coming.set(request.threadId, message);
          await sleep(1);
          coming.delete(request.threadId);
          return await driver.commit(request);
        },
        async read(request) {
          const view = await driver.read(request);
          const message = coming.get(request.threadId);
          if (!message || request.before !== undefined) return view;
          return { ...view, entries: [...view.entries, { sequence: view.last + 1, ...message }] };
        },
      });
    },
  },
  {
    name: "counts the limit from the beginning",
    breaks: "C7",
    driver: reading(({ before, after }) => ({ after: before === undefined ? (after ?? 0) : after })),
  },
  {
    name: "treats a cursor as an offset",
    breaks: "C7",
    driver: (driver) =>
      wrapDriver(driver, {
        async read(request) {
          const { before, after, limit } = request;
          if (before === undefined && after === undefined) return await driver.read(request);
          const view = await driver.read({ ...request, ...whole });
          const entries =
            after === undefined
              ? view.entries.slice(0, (before ?? 1) - 1).slice(-limit)
              : view.entries.slice(after, after + limit);
          return { ...view, entries };
        },
      }),
  },
  {
    name: "reads one page of 1,000 messages",
    breaks: "C7",
    driver: reading(({ limit }) => ({ limit: Math.min(limit, 1_000) })),
  },
  {
    name: "splits ids at colons",
    breaks: "C9",
    driver: (driver) => {
      const name = (threadId: string) => threadId.replaceAll(/:+/g, ":");
      return reading(({ threadId }) => ({ threadId: name(threadId) }))(
        asking(({ threadId }) => ({ threadId: name(threadId) }))(driver),
      );
    },
  },
  {
    name: "treats ids as case-insensitive",
    breaks: "C9",
    driver: (driver) =>
      reading(({ threadId }) => ({ threadId: threadId.toLowerCase() }))(
        asking(({ threadId }) => ({ threadId: threadId.toLowerCase() }))(driver),
      ),
  },
  {
    name: "skips unreadable records",
    breaks: "C16",
    driver: (driver) =>
      wrapDriver(driver, {
        async read(request) {
          const view = await driver.read(request);
          return { ...view, entries: view.entries.filter(({ text }) => /^[{~]/.test(text)) };
        },
      }),
  },
];
