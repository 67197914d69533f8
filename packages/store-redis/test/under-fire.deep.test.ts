import { setTimeout as sleep } from "node:timers/promises";
import { runFaults } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { redisHarnesses } from "./harness.ts";

// The server acknowledges a write after writing it to disk.
const server = startServer("redis", { args: ["--appendonly", "yes", "--appendfsync", "always"] });
afterAll(async () => (await server).stop());

type Fault = NonNullable<Parameters<typeof runFaults>[0]["faults"]>[string];

/** Clients under load while an administrator changes the server. */
const administered =
  (act: (admin: Redis, rounds: number) => Promise<void>, retryable = true): Fault =>
  async ({ rounds, underLoad }) => {
    const admin = new Redis((await server).url);
    try {
      return await underLoad(() => act(admin, rounds(20, 200)), { retryable });
    } finally {
      admin.disconnect();
    }
  };

for (const client of ["ioredis 6", "node-redis 6"] as const)
  runFaults({
    name: `Redis, ${client}`,
    createHarness: redisHarnesses(server, client),
    server: () => server,
    faults: {
      "script cache flushed": administered(async (admin, rounds) => {
        for (let round = 0; round < rounds; round++) {
          await admin.script("FLUSH");
          await sleep(20);
        }
      }),
      "memory limit reached": administered(async (admin, rounds) => {
        for (let round = 0; round < rounds / 10; round++) {
          await admin.config("SET", "maxmemory", "1mb");
          await sleep(700);
          await admin.config("SET", "maxmemory", "0");
          await sleep(100);
        }
        // A retry cannot succeed before someone frees space.
      }, false),
    },
  });
