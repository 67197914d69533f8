import { type Driver, MemoryDriver, type MessageRecord } from "@scrollback/store-core/driver";
import type { Harness } from "../src/harness.ts";
import { wrapDriver } from "../src/wrapped-driver.ts";

const { bun, deno, node } = process.versions;
const runtime = bun
  ? { product: "Bun", version: bun }
  : deno
    ? { product: "Deno", version: deno }
    : { product: "Node.js", version: node };

/** The harness of the memory driver, or of a similar one. Planted records replace stored ones in its reads. */
export async function memoryHarness(driver: Driver = new MemoryDriver()): Promise<Harness> {
  const planted = new Map<string, { was: string; is: MessageRecord }>();
  const place = (threadId: string, sequence: number) => `${sequence}/${threadId}`;
  const everything = {
    limit: Number.POSITIVE_INFINITY,
    before: undefined,
    after: undefined,
    metadata: true,
    signal: undefined,
  };
  return {
    driver: wrapDriver(driver, {
      async read(request) {
        const view = await driver.read(request);
        const entries = view.entries.map((entry) => {
          const other = planted.get(place(request.threadId, entry.sequence));
          return other?.was === entry.text ? { ...entry, ...other.is } : entry;
        });
        return { ...view, entries };
      },
    }),
    server: runtime,
    raw: {
      dump: async (threadId) => {
        const snapshot = driver.exportThread?.(threadId);
        return snapshot
          ? [...snapshot.messages.map(({ text }) => text), snapshot.metadata ?? ""].join("\n")
          : "";
      },
      async dumpIndex(index) {
        const request = { index, direction: "up", limit: 100, after: undefined, signal: undefined } as const;
        const { entries = [] } = (await driver.index?.listEntries(request)) ?? {};
        return entries.map(({ value }) => value).join("\n");
      },
      async plant(threadId, sequence, { kind, createdAt, text }) {
        const { entries } = await driver.read({ ...everything, threadId });
        const was = entries.find((entry) => entry.sequence === sequence)?.text;
        if (was === undefined) throw new Error(`there is no message ${sequence} in ${threadId}`);
        planted.set(place(threadId, sequence), {
          was,
          is: { kind: kind as MessageRecord["kind"], createdAt, text },
        });
      },
    },
    close: () => driver.close(),
  };
}
