import { setImmediate as later } from "node:timers/promises";
import { type CommitRequest, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { type Clock, formatRecord } from "@scrollback/store-core/internal";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { MemoryRecordLog, RecordLogDriver } from "../src/index.ts";

/** A command for both drivers. `actor` selects the process, of two, that runs it on the log. */
type Command =
  | {
      kind: "commit";
      actor: 0 | 1;
      drop: number | "all";
      append: string[];
      metadata: string | null | undefined;
      repeat: boolean;
      stale: boolean;
      ttl: boolean;
    }
  | { kind: "read"; actor: 0 | 1; limit: number; from: "end" | "before" | "after"; sequence: number }
  | { kind: "wait"; hours: number };

const record = fc
  .tuple(
    fc.constantFrom("s", "u", "t", "c", "b", "k", "o"),
    fc.string({ minLength: 1, maxLength: 3 }),
    fc.constantFrom(1, 1, 1, 40_000),
  )
  .map(([kind, text, times]) => formatRecord(kind as "s", 0, `"${text.repeat(times)}"`));

const actor = fc.constantFrom<0 | 1>(0, 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("commit" as const),
      actor,
      drop: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(6), fc.constant("all" as const)),
      append: fc.array(record, { maxLength: 4 }),
      metadata: fc.oneof(
        { weight: 4, arbitrary: fc.constant(undefined) },
        fc.constant(null),
        record.map((r) => `1m${r.slice(2)}`),
      ),
      repeat: fc.nat(9).map((n) => n === 0),
      stale: fc.nat(9).map((n) => n === 0),
      ttl: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      actor,
      limit: fc.oneof(fc.nat(5), fc.constant(Number.POSITIVE_INFINITY)),
      from: fc.constantFrom("end" as const, "before" as const, "after" as const),
      sequence: fc.nat(40),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      hours: fc.constantFrom(0.05, 1, 13, 30, 100),
    }),
  },
);

const ttlMs = 20 * 60 * 60 * 1000;

async function play(
  commands: Command[],
  limits: { maxMessages: number | undefined; trimming: "turns" | "exact" },
) {
  let time = Date.now();
  const clock: Clock = { wall: () => time, monotonic: () => time, sleep: () => later() };
  const realNow = Date.now;
  Date.now = () => time;
  try {
    const log = new MemoryRecordLog(64 * 1024);
    const actors = [new RecordLogDriver(log, { clock }), new RecordLogDriver(log, { clock })] as const;
    const reference: Driver = new MemoryDriver();
    let operation = 0;
    let last: { model: CommitRequest; log: CommitRequest } | undefined;
    const revisions = { model: null as string | null, log: null as string | null };
    const whole = {
      threadId: "t",
      limit: Number.POSITIVE_INFINITY,
      before: undefined,
      after: undefined,
      metadata: true,
      signal: undefined,
    };
    const same = async (
      request: typeof whole | { limit: number; before: number | undefined; after: number | undefined },
      on: Driver,
    ) => {
      const { revision: a, ...expected } = await reference.read({ ...whole, ...request });
      const { revision: b, ...actual } = await on.read({ ...whole, ...request });
      expect(actual).toEqual(expected);
      expect(a === null).toBe(b === null);
      if (a !== null) expect(b?.split(".")[1]).toBe(a.split(".")[1]);
      return { a, b };
    };
    for (const step of commands) {
      if (step.kind === "wait") {
        time += step.hours * 3_600_000;
        log.sweep(time);
      } else if (step.kind === "read") {
        const before = step.from === "before" ? step.sequence : undefined;
        const after = step.from === "after" ? step.sequence : undefined;
        await same({ limit: step.limit, before, after }, actors[step.actor]);
      } else {
        const request: CommitRequest = {
          threadId: "t",
          operationId: `op${operation++}`,
          digest: `d${operation}`,
          newIncarnation: `incarnation${operation}`,
          expectedRevision: undefined,
          drop: step.drop,
          append: step.append,
          metadata: step.metadata,
          ...limits,
          ttlMs: step.ttl ? ttlMs : undefined,
          createdAt: time,
          updatedAt: time,
          signal: undefined,
        };
        const expected = (which: "model" | "log") =>
          step.stale ? { expectedRevision: revisions[which] } : {};
        const requests =
          step.repeat && last
            ? {
                // The thread may have expired since. Then the memory driver would create it again with the same revisions.
                model: { ...last.model, newIncarnation: request.newIncarnation },
                log: last.log,
              }
            : { model: { ...request, ...expected("model") }, log: { ...request, ...expected("log") } };
        const expectedOutcome = await reference.commit(requests.model);
        const actual = await actors[step.actor].commit(requests.log);
        expect(actual.outcome).toBe(expectedOutcome.outcome);
        if (!step.repeat) last = requests;
        const { a, b } = await same(whole, actors[step.actor]);
        if (operation % 3 === 0) Object.assign(revisions, { model: a, log: b });
      }
      await same(whole, actors[0]);
    }
    return { log, reference };
  } finally {
    Date.now = realNow;
  }
}

test("the record log behaves as the memory driver, for any order, sizes, waits and sweeps", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { maxLength: 90, size: "max" }),
      fc.constantFrom(undefined, 1, 3, 6),
      fc.constantFrom<"turns" | "exact">("turns", "exact"),
      async (commands, maxMessages, trimming) => {
        await play(commands, { maxMessages, trimming });
      },
    ),
    { numRuns: Number(process.env.SCROLLBACK_RUNS ?? rounds(50, 150)) },
  );
}, 120_000);

test("text that no reader can see is removed from the rows within 64 commits", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { maxLength: 60, size: "max" }),
      fc.constantFrom(undefined, 3, 6),
      async (commands, maxMessages) => {
        const marked = commands.map((step, index) =>
          step.kind === "commit"
            ? {
                ...step,
                repeat: false,
                stale: false,
                ttl: false,
                append: step.append.map((text) => `${text.slice(0, 2)}"#${index}#${text.slice(3)}`),
              }
            : step,
        );
        const after = Array.from(
          { length: 64 },
          (_, index): Command => ({
            kind: "commit",
            actor: index % 2 === 0 ? 0 : 1,
            drop: 0,
            append: [formatRecord("u", 0, `"later ${index}"`)],
            metadata: undefined,
            repeat: false,
            stale: false,
            ttl: false,
          }),
        );
        const { log, reference } = await play([...marked, ...after], { maxMessages, trimming: "turns" });
        const seen = await reference.read({
          threadId: "t",
          limit: Number.POSITIVE_INFINITY,
          before: undefined,
          after: undefined,
          metadata: true,
          signal: undefined,
        });
        const visible = [...seen.entries.map((entry) => entry.record), seen.metadata ?? ""].join("\n");
        const stored = log
          .rowsOf("t")
          .flatMap((row) => row.texts)
          .join("\n");
        for (const [mark] of stored.matchAll(/#\d+#/g)) expect(visible).toContain(mark);
      },
    ),
    { numRuns: Number(process.env.SCROLLBACK_RUNS ?? rounds(15, 40)) },
  );
}, 120_000);
