import { setTimeout as sleep } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { batchesOf, checkFinal, checkReadings, totalOf } from "../checks/history.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn } from "../messages/messages.ts";
import { jobs } from "../processes/jobs.ts";

export const concurrency: Clause = {
  title: "Concurrency",
  declare(test) {
    test("many writers and readers on several clients lose, double and interleave nothing", async (backend) => {
      const clients = [backend.stores(), backend.otherStores(), backend.otherStores()];
      const { threadId } = backend.store();
      const written = { writers: ["a", "b", "c", "d", "e", "f"], batches: 8, batchSize: 3 };
      const writing = written.writers.map((writer, index) =>
        jobs.append(clients[index % 3] ?? backend.stores(), { threadId, writer, ...written }, () => {}),
      );
      const readings = await Promise.all(
        clients.map((stores) => jobs.observe(stores, { threadId, messages: totalOf(written) })),
      );
      await Promise.all(writing);
      const final = await textsIn(backend.stores().open(threadId));
      checkFinal(final, written);
      for (const own of readings) checkReadings(own, final, written.batchSize);
    });

    test("many processes lose, double and interleave nothing", async (backend) => {
      const runInProcess = backend.requireProcesses();
      const { threadId } = backend.store();
      const written = { writers: ["p", "q", "r", "here"], batches: 30, batchSize: 4 };
      const messages = totalOf(written);
      const writers = ["p", "q", "r"].map((writer) =>
        runInProcess("append", { threadId, writer, ...written }),
      );
      const reader = runInProcess("observe", { threadId, messages });
      const [readings, elsewhere] = await Promise.all([
        jobs.observe(backend.otherStores(), { threadId, messages }),
        reader.result,
        jobs.append(backend.stores(), { threadId, writer: "here", ...written }, () => {}),
        ...writers.map(({ result }) => result),
      ]);
      const final = await textsIn(backend.stores().open(threadId));
      checkFinal(final, written);
      checkReadings(readings, final, written.batchSize);
      checkReadings(elsewhere, final, written.batchSize);
    });

    test("compare-and-set writers in several processes lose no update", async (backend) => {
      const runInProcess = backend.requireProcesses();
      const { threadId } = backend.store();
      const counters = ["a", "b"].map((writer) => runInProcess("count", { threadId, writer, times: 12 }));
      await Promise.all([
        jobs.count(backend.stores(), { threadId, writer: "here", times: 12 }),
        ...counters.map(({ result }) => result),
      ]);
      const { metadata, entries } = await backend.stores().open(threadId).read();
      expect(metadata).toBe(36);
      expect(entries.map(({ message }) => Number.parseInt(String(message.content), 10))).toEqual(
        Array.from({ length: 36 }, (_, index) => index + 1),
      );
    });

    test("several processes pop each message once", async (backend) => {
      const runInProcess = backend.requireProcesses();
      const { threadId } = backend.store();
      await backend.stores().open(threadId).addMessages(numbered(60));
      const takers = [1, 2].map(() => runInProcess("take", { threadId }));
      const taken = (
        await Promise.all([jobs.take(backend.stores(), { threadId }), ...takers.map(({ result }) => result)])
      ).flat();
      expect(taken).toHaveLength(60);
      expect(new Set(taken).size).toBe(60);
    });

    test("writers of many threads do not affect each other", async (backend) => {
      const clients = [backend.stores(), backend.otherStores()];
      const prefix = crypto.randomUUID();
      const written = { batches: 3, batchSize: 2 };
      await Promise.all(
        Array.from({ length: 30 }, (_, index) => {
          const job = { threadId: `${prefix}:${index}`, writer: `${index}`, ...written };
          return jobs.append(clients[index % 2] ?? backend.stores(), job, () => {});
        }),
      );
      for (let index = 0; index < 30; index++) {
        checkFinal(await textsIn(backend.stores().open(`${prefix}:${index}`)), {
          ...written,
          writers: [`${index}`],
        });
      }
    });

    test("concurrent writers with trimming keep the newest batches whole, and no reader sees more messages", async (backend) => {
      const options = { maxMessages: 9, trimming: "exact" } as const;
      const clients = [backend.stores(options), backend.otherStores(options)];
      const { threadId } = backend.store();
      const reader = backend.otherStores().open(threadId);
      const acknowledged: string[] = [];
      const read = async () => {
        const texts = await textsIn(reader);
        expect(texts.length).toBeLessThanOrEqual(9);
        batchesOf(texts, 3);
      };
      const writing = ["a", "b", "c", "d"].map((writer, index) =>
        jobs.append(
          clients[index % 2] ?? backend.stores(),
          { threadId, writer, batches: 8, batchSize: 3 },
          (batch) => acknowledged.push(batch),
        ),
      );
      await meanwhile(Promise.all(writing), read);
      const kept = batchesOf(await textsIn(reader), 3);
      expect(kept).toHaveLength(3);
      for (const batch of kept) expect(acknowledged).toContain(batch);
      expect(acknowledged).toHaveLength(32);
    });

    test("writers over failing connections lose and double nothing", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const { threadId } = backend.store();
      const clients = [1, 2, 3].map(() => createStores(connect()));
      // On a busy machine the call's time limit of 5 seconds may pass before a client has a connection.
      const written = { batches: 3, batchSize: 3, insist: true };
      const faults = ["cut-reply", "cut-request", "down"] as const;
      const writers: string[] = [];
      // The next fault begins when all clients have continued, not at a fixed rate: on a busy machine no client would get a
      // connection before it.
      for (let round = 0; round < 12; round++) {
        const names = clients.map((_, client) => `${client}, round ${round}`);
        writers.push(...names);
        const writing = clients.map((stores, client) =>
          jobs.append(stores, { threadId, writer: names[client] ?? "", ...written }, () => {}),
        );
        await sleep(Math.random() * 10);
        const kind = faults[round % faults.length] ?? "down";
        proxy.set(kind === "down" ? { kind } : { kind, times: 1, afterBytes: round % 8 });
        await sleep(40);
        proxy.set({ kind: "pass" });
        await Promise.all(writing);
      }
      checkFinal(await textsIn(backend.stores().open(threadId)), { ...written, writers });
    });
  },
};
