import type { CommitRequest, ReadRequest } from "@scrollback/store-core/driver";
import { newIncarnation } from "@scrollback/store-core/internal";
import { Commits } from "../../src/commit.ts";
import { readThread } from "../../src/read.ts";
import { deleteThread } from "../../src/remove.ts";
import { type Faults, Outage, World } from "./world.ts";

/** An operation of a process: what is appended, after a drop; or a deletion, or a read. */
type Call =
  | {
      readonly append?: readonly string[];
      readonly drop?: number | "all";
      readonly maxMessages?: number;
      readonly ttlMs?: number;
    }
  | "delete"
  | "read";

export interface Scope {
  /** Called one after the other, before. */
  readonly before?: readonly Call[];
  /** The calls of each process. */
  readonly processes: readonly (readonly Call[])[];
  readonly faults: Faults;
}

const THREAD = "a";
/** As store-core repeats a call. */
const ATTEMPTS = 4;
const now = () => 1_800_000_000_000;

const requestOf = (call: Exclude<Call, string>, operationId: string): CommitRequest => ({
  ...{
    threadId: THREAD,
    operationId,
    digest: "own",
    newIncarnation: newIncarnation(),
    expectedRevision: undefined,
  },
  ...{
    drop: call.drop ?? 0,
    append: (call.append ?? []).map((text) => ({ kind: "u", createdAt: 0, text })),
    metadata: undefined,
  },
  ...{
    maxMessages: call.maxMessages,
    trimming: "exact",
    ttlMs: call.ttlMs,
    createdAt: 1,
    updatedAt: 1,
    signal: undefined,
  },
});

/** What a call makes of a list. */
function effectOf(call: Call, list: readonly string[]): readonly string[] {
  if (call === "read") return list;
  if (call === "delete") return [];
  const kept = call.drop === "all" ? [] : list.slice(0, Math.max(0, list.length - (call.drop ?? 0)));
  return [...kept, ...(call.append ?? [])].slice(-(call.maxMessages ?? 1_000_000));
}

interface Made {
  readonly call: Call;
  readonly process: number;
  /** Whether it returned. */
  isDone: boolean;
  /** What a read returned. */
  seen?: readonly string[];
}

/** Runs a scope once, and checks it. */
async function runOnce(scope: Scope, choose: (options: number) => number): Promise<void> {
  const world = new World(choose, scope.faults);
  const setup = new World(() => 0, {});
  await setup.run([perform(setup, 9, scope.before ?? [], [])]);
  for (const [key, item] of setup.items) world.items.set(key, item);
  const made: Made[] = [];
  await world.run(scope.processes.map((calls, process) => perform(world, process, calls, made)));
  const before = (scope.before ?? []).reduce<readonly string[]>((list, call) => effectOf(call, list), []);
  const after = new World(() => 0, {});
  for (const [key, item] of world.items) after.items.set(key, item);
  const last: Made[] = [];
  await after.run([perform(after, 8, ["read"], last)]);
  check(before, [...made, { ...last[0], call: "read", process: 8, isDone: true } as Made], world);
}

async function perform(world: World, process: number, calls: readonly Call[], made: Made[]): Promise<void> {
  const table = world.tableOf(process);
  const commits = new Commits(table, now);
  for (const [index, call] of calls.entries()) {
    const one: Made = { call, process, isDone: false };
    made.push(one);
    for (let attempt = 0; !one.isDone && attempt < ATTEMPTS; attempt++) {
      try {
        const operationId = `${process}.${index}`;
        if (call === "read") one.seen = await read(table);
        else if (call === "delete")
          await deleteThread(
            table,
            { threadId: THREAD, operationId, expectedRevision: undefined, signal: undefined },
            now,
            (dead) => commits.learn(THREAD, dead, true),
          );
        else await commits.commit(requestOf(call, operationId));
        one.isDone = true;
      } catch (error) {
        if (!(error instanceof Outage)) throw error;
      }
    }
  }
}

async function read(table: ReturnType<World["tableOf"]>): Promise<string[]> {
  const all: ReadRequest = {
    threadId: THREAD,
    limit: Infinity,
    before: undefined,
    after: undefined,
    metadata: true,
    signal: undefined,
  };
  const { entries } = await readThread(table, all, now, () => undefined);
  return entries.map(({ text }) => text);
}

/** Asserts that one order of the calls explains all reads, and that nothing is at rest that the last state does not have. */
function check(before: readonly string[], made: readonly Made[], world: World): void {
  const isExplained = (list: readonly string[], left: readonly Made[]): boolean => {
    if (left.length === 0) return true;
    return left.some((one) => {
      // The calls of a process are in order, and the last read is after all others.
      if (left.find(({ process }) => process === one.process) !== one) return false;
      if (one.process === 8 && left.some(({ process, isDone }) => process !== 8 && isDone)) return false;
      const rest = left.filter((other) => other !== one);
      const next = effectOf(one.call, list);
      const isSeen = !one.seen || one.seen.join() === list.join();
      if (isSeen && isExplained(next, rest)) return true;
      return !one.isDone && isExplained(list, rest);
    });
  };
  if (!isExplained(before, made)) throw new Error(`not explained: ${JSON.stringify(made)}`);
  const last = made.at(-1)?.seen ?? [];
  if (world.crashed.size > 0 || made.some(({ isDone }) => !isDone)) return;
  const texts = [...world.items].flatMap(([key, { text }]) =>
    text?.S === undefined || world.strays.has(key) ? [] : [text.S],
  );
  if (texts.sort().join() !== [...last].sort().join())
    throw new Error(`at rest: ${texts.join()}, listed: ${last.join()}`);
}

/** Runs a scope in every order if there are at most `most`; otherwise in so many random ones. Returns the number of runs. */
export async function explore(
  scope: Scope,
  most: number,
  seed = 1,
): Promise<{ runs: number; isExhausted: boolean }> {
  let runs = 0;
  const run = async (choose: (options: number) => number) => {
    const path: number[] = [];
    try {
      await runOnce(scope, (options) => {
        const choice = choose(options);
        path.push(choice);
        return choice;
      });
    } catch (error) {
      throw new Error(`choices ${path.join()}`, { cause: error });
    }
    runs++;
  };
  // In order: the last choice that has another option takes it.
  let path: { choice: number; options: number }[] = [];
  while (runs < most / 2) {
    let at = 0;
    await run((options) => {
      const known = path[at++];
      if (known) return known.choice;
      path.push({ choice: 0, options });
      return 0;
    });
    while (path.length > 0 && (path.at(-1)?.choice ?? 0) + 1 >= (path.at(-1)?.options ?? 0))
      path = path.slice(0, -1);
    const last = path.at(-1);
    if (!last) return { runs, isExhausted: true };
    last.choice++;
  }
  let state = seed;
  const random = (options: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * options);
  };
  while (runs < most) await run(random);
  return { runs, isExhausted: false };
}
