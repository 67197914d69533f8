import { setTimeout as sleep } from "node:timers/promises";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import type { WriterReport } from "./child.ts";
import { documentsOf, makeCollection, type TestCollection } from "./collection.ts";
import { ChildJob } from "./processes.ts";

const PROCESSES = 4;
const WRITERS = 4;
const MESSAGES = 12;

const server = sharedServer("mongodb");
let collection: TestCollection;
beforeAll(async () => {
  collection = makeCollection((await server).url);
});
afterAll(async () => {
  await collection[Symbol.asyncDispose]();
});

function openStores() {
  const { url, database, collectionName } = collection;
  return createMongoStores({ url, database, collectionName });
}

test("16 writers in 4 processes on one thread all succeed, in order, and nothing is doubled", async () => {
  const start = performance.now();
  const jobs = Array.from(
    { length: PROCESSES },
    (_, process) => new ChildJob("write", collection, "busy", `${process}`, `${WRITERS}`, `${MESSAGES}`),
  );
  const writers = (await Promise.all(jobs.map((job) => job.result<WriterReport[]>()))).flat();
  const seconds = (performance.now() - start) / 1_000;

  await using stores = openStores();
  const texts = (await stores.open("busy").listMessages()).map(({ content }) => String(content));
  const count = PROCESSES * WRITERS * MESSAGES;
  expect(texts).toHaveLength(count);
  for (let process = 0; process < PROCESSES; process++) {
    for (let writer = 0; writer < WRITERS; writer++) {
      const own = texts.filter((text) => text.startsWith(`${process}.${writer} `));
      expect(own).toEqual(
        Array.from({ length: MESSAGES }, (_, message) => `${process}.${writer} ${message}`),
      );
    }
  }

  const waits = writers.flatMap(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  const at = (part: number) => `${Math.round(waits[Math.floor(part * (waits.length - 1))] ?? 0)} ms`;
  const commands = writers.reduce((sum, writer) => sum + writer.commands, 0) / count;
  const attempts = Math.max(...writers.map(({ mostUpdates }) => mostUpdates));
  console.log(
    `16 writers on one thread: ${count} commits in ${seconds.toFixed(1)} s, ${commands.toFixed(1)} commands a commit, at most ${attempts} attempts; a commit took ${at(0.5)} (median), ${at(0.95)} (95 %), ${at(1)} (longest)`,
  );
});

const DEATHS = process.env.SCROLLBACK_DEEP === "1" ? 20 : 4;

test("a process killed repeatedly during its writes leaves whole writes, including all that were acknowledged", async () => {
  await using stores = openStores();
  const store = stores.open("killed");
  for (let death = 1; death <= DEATHS; death++) {
    const job = new ChildJob("change", collection, "killed", `p${death}`);
    await expect.poll(() => job.lines.length, { timeout: 20_000, interval: 5 }).toBeGreaterThan(death % 3);
    await sleep(Math.random() * 60);
    await job.kill();
    const acknowledged = job.lines.map((line) => Number(JSON.parse(line).split(" ")[1])).at(-1) ?? 0;

    const { entries, metadata } = await store.read();
    const shown = entries.map(({ message }) => String(message.content).split(" ").slice(0, 3));
    expect(shown.length % 5).toBe(0);
    for (let at = 0; at < shown.length; at += 5) {
      const [name, change] = shown[at] ?? [];
      expect(shown.slice(at, at + 5)).toEqual([0, 1, 2, 3, 4].map((index) => [name, change, `${index}`]));
    }
    const [name, last] = shown.at(-1) ?? [];
    expect(metadata).toBe(`${name} ${last}`);
    expect(name).toBe(`p${death}`);
    // The pending change may have taken effect.
    expect([acknowledged, acknowledged + 1]).toContain(Number(last));
  }
  // Pages of changes that the dead processes did not make are in no list.
  await stores.deleteThread("killed");
  expect(await documentsOf(collection, "killed")).toMatchObject([{ _id: "killed", isDead: true }]);
});
