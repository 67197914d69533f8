import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { createDynamoStores } from "../src/index.ts";
import type { WriterReport } from "./child.ts";
import { inProcess } from "./processes.ts";
import { makeTable } from "./table.ts";

const PROCESSES = 4;
const WRITERS = 4;
const MESSAGES = 12;

test("16 writers in 4 processes on one thread all succeed, in order, and nothing is doubled", async () => {
  await using table = await makeTable((await sharedServer("dynamodb")).url);
  const start = performance.now();
  const reports = await Promise.all(
    Array.from({ length: PROCESSES }, (_, process) =>
      inProcess<WriterReport[]>(["write", table.url, "busy", `${process}`, `${WRITERS}`, `${MESSAGES}`]),
    ),
  );
  const seconds = (performance.now() - start) / 1_000;

  await using stores = createDynamoStores({ url: table.url });
  const texts = (await stores.open("busy").listMessages()).map(({ content }) => String(content));
  const count = PROCESSES * WRITERS * MESSAGES;
  expect(texts).toHaveLength(count);
  for (let process = 0; process < PROCESSES; process++) {
    for (let writer = 0; writer < WRITERS; writer++) {
      const name = `${process}.${writer}`;
      const own = texts.filter((text) => text.startsWith(`${name} `));
      expect(own).toEqual(Array.from({ length: MESSAGES }, (_, message) => `${name} ${message}`));
    }
  }

  const writers = reports.flat();
  const waits = writers.flatMap(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  const at = (part: number) => `${Math.round(waits[Math.floor(part * (waits.length - 1))] ?? 0)} ms`;
  const requests = writers.reduce((sum, writer) => sum + writer.requests, 0);
  console.log(
    `16 writers on one thread: ${count} commits in ${seconds.toFixed(1)} s, ${(requests / count).toFixed(1)} requests a commit; a commit took ${at(0.5)} (median), ${at(0.95)} (95 %), ${at(1)} (longest)`,
  );
});
