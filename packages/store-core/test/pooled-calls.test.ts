import { EventEmitter } from "node:events";
import fc from "fast-check";
import { aroundEach, describe, expect, test, vi } from "vitest";
import { withFakeTimers } from "../../../conformance-tests/test/fixtures/fake-timers.ts";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { type ConnectionPool, PooledCalls } from "../src/driver.ts";
import { StoreError } from "../src/index.ts";

/** What the next connection, or the next request on one, does. */
interface Step {
  readonly does: "reply" | "refuse" | "lose" | "hang";
  readonly afterMs: number;
}

class Refusal extends Error {}

/** Settles as the step says, or rejects when the connection ends. */
function follow(step: Step, connection?: Connection): Promise<number> {
  return new Promise((resolve, reject) => {
    connection?.once("gone", () => reject(new Error("lost")));
    const { does, afterMs } = step;
    if (does === "hang") return;
    const settle = () =>
      does === "reply" ? resolve(1) : reject(does === "refuse" ? new Refusal() : new Error("lost"));
    setTimeout(settle, afterMs);
  });
}

const atOnce: Step = { does: "reply", afterMs: 0 };

function repeated(steps: readonly Step[]): () => Step {
  let taken = 0;
  return () => steps[taken++ % steps.length] ?? atOnce;
}

class Connection extends EventEmitter {
  held = false;
  ended = false;
  destroyed = false;
  /** The requests without a reply. */
  pending = 0;
}

/** A pool that obeys a list of steps, over and over, and writes down each breach of a rule. */
class ScriptedPool implements ConnectionPool<Connection> {
  readonly breaches: string[] = [];
  readonly all: Connection[] = [];
  /** The calls that sent their request. */
  readonly sent = new Set<string>();
  readonly own: { end(): Promise<unknown>; destroy(connection: Connection): void };
  isOwned = true;
  readonly #idle: Connection[] = [];
  readonly #hangsAtEnd: boolean;
  readonly #connects: () => Step;
  readonly #replies: () => Step;
  closed = false;

  constructor(connects: readonly Step[], replies: readonly Step[], hangsAtEnd = false) {
    this.#hangsAtEnd = hangsAtEnd;
    this.#connects = repeated(connects);
    this.#replies = repeated(replies);
    this.own = {
      end: async () => {
        if (hangsAtEnd) await new Promise(() => undefined);
        for (const connection of this.#idle) this.#end(connection);
      },
      destroy: (connection) => {
        if (connection.destroyed) this.breaches.push("destroyed twice");
        connection.destroyed = true;
        // Some clients emit no `end` then.
        this.#end(connection, this.all.length % 2 === 0);
      },
    };
  }

  async acquire(): Promise<Connection> {
    const idle = this.#idle.pop();
    if (!idle) await follow(this.#connects());
    const connection = idle ?? new Connection();
    if (!idle) this.all.push(connection);
    if (connection.held) this.breaches.push("acquired twice");
    connection.held = true;
    return connection;
  }

  release(connection: Connection, reusable: boolean): void {
    if (!connection.held) this.breaches.push("released twice");
    connection.held = false;
    if (!reusable && this.closed && !this.isOwned && connection.pending === 0)
      this.breaches.push("closed another's");
    if (reusable && connection.pending > 0) this.breaches.push("reusable although a reply is missing");
    if (reusable && !connection.ended) this.#idle.push(connection);
    else if (!(this.closed && this.#hangsAtEnd)) this.#end(connection);
  }

  isReply(error: unknown): boolean {
    return error instanceof Refusal;
  }

  async request(call: string, connection: Connection): Promise<number> {
    if (this.sent.has(call)) this.breaches.push("sent twice");
    this.sent.add(call);
    if (this.closed) this.breaches.push("sent after close()");
    if (!connection.held || connection.pending > 0) this.breaches.push("shared a connection");
    connection.pending++;
    try {
      const reply = await follow(this.#replies(), connection);
      connection.pending--;
      return reply;
    } catch (error) {
      if (this.isReply(error)) connection.pending--;
      throw error;
    }
  }

  #end(connection: Connection, emits = true): void {
    if (connection.ended) return;
    connection.ended = true;
    connection.emit("gone");
    if (emits) connection.emit("end");
  }
}

const steps = fc.array(
  fc.record({
    does: fc.constantFrom(
      "reply" as const,
      "reply" as const,
      "refuse" as const,
      "lose" as const,
      "hang" as const,
    ),
    afterMs: fc.constantFrom(0, 1, 20, 3_999, 4_001, 9_000),
  }),
  { minLength: 1, maxLength: 12 },
);

describe("requests on a pool", () => {
  aroundEach((run) => withFakeTimers(run));

  test("settle in time and share no connection, whatever the connections do", async () => {
    const scenario = fc.record({
      connects: steps,
      replies: steps,
      beginAt: fc.array(fc.nat(6_000), { minLength: 1, maxLength: 8 }),
      closeAt: fc.nat(12_000),
      owned: fc.boolean(),
      hangsAtEnd: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ connects, replies, beginAt, closeAt, owned, hangsAtEnd }) => {
        const pool = new ScriptedPool(connects, replies, hangsAtEnd);
        pool.isOwned = owned;
        if (!owned) Reflect.deleteProperty(pool, "own");
        const calls = new PooledCalls(pool);
        const start = Date.now();
        const settledAt: number[] = [];
        for (const [index, at] of beginAt.entries()) {
          setTimeout(() => {
            const settled = () => {
              settledAt[index] = Date.now() - start;
            };
            const request = (connection: Connection) => {
              if (settledAt[index] !== undefined) pool.breaches.push("sent although its call has failed");
              return pool.request(`${index}`, connection);
            };
            calls.run(request).then(settled, settled);
          }, at);
        }
        let closing = -1;
        setTimeout(() => {
          pool.closed = true;
          const began = Date.now();
          void calls.close().then(() => {
            closing = Date.now() - began;
            if (owned) expect(pool.all.filter(({ ended }) => !ended)).toEqual([]);
          });
        }, closeAt);
        await vi.advanceTimersByTimeAsync(24_000);
        expect(pool.breaches).toEqual([]);
        for (const [index, at] of beginAt.entries())
          expect(settledAt[index]).toBeLessThanOrEqual(Math.min(at + 8_000, Math.max(at, closeAt)));
        expect(closing).toBeGreaterThanOrEqual(0);
        expect(closing).toBeLessThanOrEqual(500);
        expect(pool.all.filter(({ held }) => held)).toEqual([]);
        if (owned) expect(pool.all.filter(({ ended }) => !ended)).toEqual([]);
        expect(vi.getTimerCount(), "timers left").toBe(0);
      }),
      { numRuns: rounds(800, 3_000) },
    );
  });

  test("reuse a connection after the server's refusal", async () => {
    const pool = new ScriptedPool([atOnce], [{ does: "refuse", afterMs: 0 }]);
    const calls = new PooledCalls(pool);
    for (const name of ["a", "b"]) {
      const call = calls.run((connection) => pool.request(name, connection));
      const outcome = expect(call).rejects.toBeInstanceOf(Refusal);
      await vi.advanceTimersByTimeAsync(1);
      await outcome;
    }
    expect(pool.all).toHaveLength(1);
  });

  test("do not begin on a pool of closed stores, and the loss of an idle connection is no event", async () => {
    const pool = new ScriptedPool([atOnce], [atOnce]);
    const calls = new PooledCalls(pool);
    const call = calls.run((connection) => pool.request("a", connection));
    await vi.advanceTimersByTimeAsync(1);
    await call;
    pool.all[0]?.emit("error", new Error("the connection was lost"));
    await calls.close();
    const late = calls.run((connection) => pool.request("b", connection));
    await expect(late).rejects.toSatisfy((error) => StoreError.is(error, "CLOSED"));
    expect(pool.sent.has("b")).toBe(false);
  });
});
