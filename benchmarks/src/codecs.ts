import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { aesGcmCodec, type Codec, gzipCodec, jsonCodec } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { type Results, timingOf, watchMachine } from "./figures.ts";
import { type Cell, type Effort, measure } from "./measure.ts";
import { messagesFrom } from "./messages.ts";

const LENGTH = 1_000;
const BATCH = 20;
const FOLDER = fileURLToPath(new URL("../.results/", import.meta.url));

const keys = [{ id: "benchmark", key: new Uint8Array(32) }];
const codecs: Readonly<Record<string, Codec>> = {
  jsonCodec,
  gzipCodec: gzipCodec(),
  aesGcmCodec: aesGcmCodec({ keys }),
  "aesGcmCodec over gzipCodec": aesGcmCodec({ keys, codec: gzipCodec() }),
};

interface Row {
  readonly name: string;
  readonly appends: Cell;
  readonly reads: Cell;
  /** The average size of a message's text. */
  readonly bytes: number;
}

/** The costs of store-core's codecs on SQLite, side by side. */
export async function measureCodecs(effort: Effort, signal: AbortSignal): Promise<Results["codecs"]> {
  const machineUntilNow = watchMachine();
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, "codecs-"));
  const stores = Object.entries(codecs).map(([name, codec], index) => ({
    name,
    codec,
    stores: createSqliteStores({
      url: `sqlite:${join(folder, `${index}.db`)}`,
      synchronous: "normal",
      maxMessages: LENGTH + BATCH,
      codec,
    }),
  }));
  try {
    const rows: Row[] = [];
    for (const { name, codec, stores: factory } of stores) {
      const store = factory.open();
      await store.addMessages(messagesFrom(0, LENGTH));
      let position = LENGTH;
      const appends: Cell = {
        prepare() {
          const messages = messagesFrom(position, BATCH);
          position += BATCH;
          return () => store.addMessages(messages);
        },
        times: [],
      };
      const reads: Cell = { prepare: () => () => store.listMessages({ limit: BATCH }), times: [] };
      rows.push({ name, appends, reads, bytes: meanBytes(codec) });
    }
    await measure(
      rows.map(({ reads }) => reads),
      effort,
      signal,
    );
    await measure(
      rows.map(({ appends }) => appends),
      effort,
      signal,
    );
    return {
      machine: machineUntilNow(),
      rows: rows.map(({ name, appends, reads, bytes }) => ({
        name,
        appends: timingOf(appends.times),
        reads: timingOf(reads.times),
        bytes,
      })),
    };
  } finally {
    for (const { stores: factory } of stores) await factory.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function meanBytes(codec: Codec): number {
  const write = { threadId: "t", operationId: "benchmark", kind: "u" } as const;
  const texts = messagesFrom(0, LENGTH).map((message, index) => codec.encode(message, { ...write, index }));
  return Buffer.byteLength(texts.join("")) / texts.length;
}
