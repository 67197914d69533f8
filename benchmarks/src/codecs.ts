import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { aesGcmCodec, type Codec, gzipCodec, jsonCodec } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { type Cell, type Effort, measure } from "./measure.ts";
import { messagesFrom } from "./messages.ts";
import { inDigits, table, timesOf } from "./report.ts";
import { ratio } from "./statistics.ts";

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
  /** What a message's text has on average. */
  readonly bytes: number;
}

/** What the codecs of store-core cost on SQLite, side by side: a table with a row each. */
export async function measureCodecs(effort: Effort, signal: AbortSignal): Promise<string> {
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
    return section(rows);
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

function section(rows: readonly Row[]): string {
  const json = rows[0] as Row;
  return `## Codecs

A thread of ${LENGTH.toLocaleString("en")} on SQLite, synchronous NORMAL; "×json" is the ratio of the medians to jsonCodec's, "bytes" what the text of
a message has on average.

${table<Row>(
  [
    { title: "", align: "left", text: ({ name }) => name },
    { title: `newest ${BATCH}`, align: "right", text: ({ reads }) => timesOf(reads) },
    {
      title: "×json",
      align: "right",
      text: ({ reads }) => inDigits(ratio(reads.times, json.reads.times), 2),
    },
    { title: `append ${BATCH}`, align: "right", text: ({ appends }) => timesOf(appends) },
    {
      title: "×json",
      align: "right",
      text: (row) => inDigits(ratio(row.appends.times, json.appends.times), 2),
    },
    { title: "bytes", align: "right", text: ({ bytes }) => bytes.toFixed(0) },
  ],
  rows,
)}`;
}
