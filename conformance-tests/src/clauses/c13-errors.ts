import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { rejection } from "../checks/errors.ts";
import { DEADLINE_MS } from "../checks/times.ts";
import { verbsOf } from "../checks/verbs.ts";
import type { Clause } from "../clause.ts";
import { numbered, textsIn, user } from "../messages/messages.ts";
import { invalidArguments } from "./c13-arguments.ts";

export const errors: Clause = {
  title: "Errors",
  declare(test) {
    test("calls in an outage fail with UNAVAILABLE naming the server, never return an empty thread, and work again after it", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      const store = stores.open();
      await store.addMessages(numbered(3));
      const fresh = createStores(connect());
      const unknown = stores.open();
      proxy.set({ kind: "down" });
      const failed = await Promise.all(
        (
          [
            [stores, store.threadId],
            [fresh, store.threadId],
            [stores, unknown.threadId],
          ] as const
        ).flatMap(([one, threadId]) =>
          Object.entries(verbsOf(backend, one, threadId)).map(async ([name, call]) => {
            const error = await rejection(call(), "UNAVAILABLE").catch((cause) => {
              throw new Error(`${name} in an outage`, { cause });
            });
            return { name, error };
          }),
        ),
      );
      for (const { name, error } of failed) {
        expect(error.retryable, `${name} may be tried again`).toBe(true);
        expect(error.cause, `the raw error of ${name}`).toBeDefined();
        expect(error.message, `${name} names a server, host:port, and the cause`).toMatch(/\S:\d+ \(.+\)/);
        for (const secret of ["secret", ...(backend.harness.secrets ?? [])]) {
          expect(error.message, name).not.toContain(secret);
        }
      }
      proxy.set({ kind: "pass" });
      // A commit that the outage cut off may or may not have arrived; here it was never sent.
      await vi.waitFor(
        async () =>
          expect(await textsIn(store).catch(String)).toEqual(["message 1", "message 2", "message 3"]),
        { timeout: 10_000 },
      );
      await vi.waitFor(
        async () => expect(await textsIn(fresh.open(store.threadId)).catch(String)).toHaveLength(3),
        {
          timeout: 10_000,
        },
      );
      expect(await unknown.listMessages()).toEqual([]);
    });

    test("calls during a short outage succeed after it", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const stores = createStores(connect());
      const [one, two] = [stores.open(), stores.open()];
      await one.addMessages(numbered(2));
      await two.addMessages(numbered(2));
      proxy.set({ kind: "down" });
      const calls = Promise.all([one.addMessages([user("during")]), two.listMessages(), two.popMessage()]);
      await sleep(400);
      proxy.set({ kind: "pass" });
      const [, list, popped] = await calls;
      expect(list.length).toBeGreaterThanOrEqual(1);
      expect(popped).toStrictEqual(user("message 2"));
      expect(await textsIn(one)).toEqual(["message 1", "message 2", "during"]);
      expect(await textsIn(two)).toEqual(["message 1"]);
    });

    test("a commit whose reply never arrives on an open connection is retried and takes effect once", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const [writer, reader] = [createStores(connect()), createStores(connect())];
      const { threadId } = backend.store();
      await writer.open(threadId).addMessages(numbered(1));
      await reader.open(threadId).listMessages();
      const operationId = "of a lost reply";
      proxy.set({ kind: "drop-reply" });
      // A call that is still waiting then fails with ABORTED: the driver has no timeout for a reply, or too long a one.
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const given = await Promise.all([
        rejection(writer.open(threadId).addMessages([user("2")], { operationId, signal }), "UNAVAILABLE"),
        rejection(reader.open(threadId).listMessages({ signal }), "UNAVAILABLE"),
      ]);
      for (const error of given) expect(error.retryable, "may be tried again").toBe(true);
      expect(proxy.counters.strikes, "replies lost").toBeGreaterThan(1);
      proxy.set({ kind: "pass" });
      const sound = backend.stores().open(threadId);
      expect(await textsIn(sound), "the request arrived and took effect once").toEqual(["message 1", "2"]);
      await sound.addMessages([user("2")], { operationId });
      expect(await textsIn(sound)).toEqual(["message 1", "2"]);
    });

    test("a read whose reply is cut is repeated as a whole", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      const texts = Array.from({ length: 50 }, (_, index) => `${index} ${"x".repeat(3_000)}`);
      await store.addMessages(texts.map(user));
      for (const afterBytes of [0, 1, 100, 20_000, 140_000]) {
        const { strikes } = proxy.counters;
        proxy.set({ kind: "cut-reply", afterBytes, times: 1 });
        expect(await textsIn(store), `cut after ${afterBytes} bytes`).toEqual(texts);
        expect(proxy.counters.strikes, "cuts").toBe(strikes + 1);
      }
    });

    test("calls to a slow backend wait for it", async (backend) => {
      const { proxy, connect } = backend.requireNetwork();
      const store = createStores(connect()).open();
      await store.addMessages(numbered(1));
      proxy.set({ kind: "delay-reply", ms: 300 });
      await store.addMessages([user("slow")]);
      expect(await textsIn(store)).toEqual(["message 1", "slow"]);
    });

    invalidArguments(test);

    test("error messages do not contain refused content", async (backend) => {
      const store = backend.store();
      const secret = crypto.randomUUID();
      const messages: string[] = [];
      const collect = (error: StoreError) => messages.push(error.message);
      await store.addMessages([user(secret)], { operationId: "op" });
      collect(await rejection(store.addMessages([user(`${secret}2`)], { operationId: "op" }), "CONFLICT"));
      collect(await rejection(store.commit({ metadata: secret }, { expectedRevision: null }), "CONFLICT"));
      collect(
        await rejection(store.addMessages([{ role: secret as never, content: secret }]), "INVALID_ARGUMENT"),
      );
      collect(
        await rejection(
          store.addMessages([{ role: "user", content: secret, metadata: () => secret }]),
          "INVALID_ARGUMENT",
        ),
      );
      for (const message of messages) expect(message).not.toContain(secret);
    });

    test("classifyError returns undefined for errors that the driver does not recognize", async (backend) => {
      for (const error of [
        new Error("from elsewhere"),
        new TypeError("bug"),
        "text",
        null,
        undefined,
        7,
        {},
      ]) {
        expect(backend.driver.classifyError(error)).toBeUndefined();
      }
    });

    test("errors are StoreErrors for every copy of the package", async (backend) => {
      const error = await rejection(backend.store().listMessages({ limit: -1 }), "INVALID_ARGUMENT");
      expect(error).toBeInstanceOf(Error);
      expect(error.name).toBe("StoreError");
      expect(error.retryable).toBe(false);
      expect(StoreError.is(error, "CONFLICT")).toBe(false);
    });
  },
};
