import { setImmediate as later } from "node:timers/promises";
import type { Harness } from "../../../conformance-tests/src/harness.ts";
import { documentHarness } from "../src/conformance/document-harness.ts";
import { type DocumentDatabase, MemoryDocuments } from "../src/index.ts";

/** The verbs of a database that send requests. */
export const verbs = ["load", "swap", "write", "read", "raise", "remove", "keys", "list"] as const;
export type Verb = (typeof verbs)[number];

/** A database with `before` called ahead of each request. */
export function gated(database: DocumentDatabase, before: (verb: Verb) => unknown): DocumentDatabase {
  return new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const verb = verbs.find((one) => one === name);
      if (!verb) return value.bind(target);
      return async (...request: unknown[]) => {
        await before(verb);
        return await Reflect.apply(value, target, request);
      };
    },
  });
}

/** The documents in memory: two drivers on one database correspond to two processes on one server. */
export async function documentsHarness(): Promise<Harness> {
  const database = new MemoryDocuments();
  return documentHarness({
    server: { product: "Node.js", version: process.versions.node },
    // Each request is sent with a delay, so that other requests can come between two requests.
    connect: () => gated(database, () => later()),
    close: async () => {},
  });
}
