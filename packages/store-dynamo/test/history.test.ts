import { type CommitRequest, MemoryDriver, type ReadRequest } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { Commits } from "../src/commit.ts";
import { HEAD } from "../src/item.ts";
import { readThread } from "../src/read.ts";
import { deleteThread } from "../src/remove.ts";
import { World } from "./explorer/world.ts";

const thread = { threadId: "a", expectedRevision: undefined, signal: undefined };
const SEEDS = process.env.SCROLLBACK_DEEP === "1" ? 2_000 : 40;
const bytesOf = (texts: readonly string[]) => texts.reduce((sum, { length }) => sum + length, 0);

/** Makes random changes of a thread, and compares each state with that of a memory driver, and with what is at rest. */
async function history(seed: number, world: World): Promise<void> {
  let state = seed * 7_919;
  const below = (options: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * options);
  };
  const of = <T>(...options: readonly T[]) => options[below(options.length)] as T;
  let now = 1_800_000_000_000;
  const clock = { wall: () => now };
  const table = world.tableOf(0);
  const model = new MemoryDriver({ clock });
  let commits = new Commits(table, clock.wall);

  const requestOf = (operationId: string): CommitRequest => ({
    ...{ ...thread, operationId, digest: "own", newIncarnation: operationId.padStart(16, "i") },
    append: Array.from({ length: of(0, 1, 2, 5, 30, 80, 93, 130, 200) }, (_, index) => ({
      ...{ kind: of("u", "o", "c", "t", "s", "k"), createdAt: 0 },
      text: `${operationId}.${index}${below(300) === 0 ? "X".repeat(900_000) : ""}`,
    })),
    drop: below(2) === 0 ? 0 : of<number | "all">(1, 2, 10, 60, 95, 150, 300, "all"),
    metadata: of(undefined, undefined, undefined, `M${operationId}`, null),
    maxMessages: of(undefined, 1, 2, 10, 50, 100, 150, 300),
    trimming: of("exact", "turns"),
    ttlMs: of(undefined, 3_600_000, 7_200_000),
    ...{ createdAt: now, updatedAt: now },
  });
  const compare = async (range: Pick<ReadRequest, "limit" | "before" | "after">) => {
    const request = { ...thread, ...range, metadata: true };
    const { revision: _, ...found } = await readThread(table, request, clock.wall, () => undefined);
    const { revision: __, ...expected } = await model.read(request);
    expect(found).toEqual(expected);
    return expected;
  };

  for (let step = 0; step < 14; step++) {
    const operationId = String(step);
    now += below(20) === 0 ? 20_000_000 : below(3_000_000);
    // Another process.
    if (below(8) === 0) commits = new Commits(table, clock.wall);
    if (below(20) === 0) {
      await model.delete({ ...thread, operationId });
      const learn: Parameters<typeof deleteThread>[3] = (dead) => commits.learn("a", dead, true);
      await deleteThread(table, { ...thread, operationId }, clock.wall, learn);
    } else {
      const request = requestOf(operationId);
      expect((await commits.commit(request)).outcome).toBe((await model.commit(request)).outcome);
    }
    const { entries, metadata = "", first, last } = await compare({ limit: 999, ...all });
    const at = first + below(Math.max(1, last - first));
    await compare({
      limit: 1 + below(40),
      ...of<typeof all>(all, { ...all, before: at }, { ...all, after: at }),
    });
    const items = [...world.items.values()];
    const stored = bytesOf(items.map(({ text }) => text?.S ?? ""));
    expect(stored).toBe(bytesOf([...entries.map(({ text }) => text), metadata]));
    const head = world.items.get(HEAD);
    for (const { x } of head?.dead ? [] : items)
      expect(Number(x?.N ?? Infinity)).toBeGreaterThanOrEqual(Number(head?.x?.N ?? Infinity));
  }
}

const all: Pick<ReadRequest, "before" | "after"> = { before: undefined, after: undefined };

test("a thread of large commits, drops and trims is that of a memory driver, and nothing else is at rest", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const world = new World(() => 0, {});
    const ended = history(seed, world).catch((cause: unknown) => {
      throw new Error(`seed ${seed}`, { cause });
    });
    await world.run([ended.catch(() => undefined)]);
    await ended;
  }
}, 600_000);
