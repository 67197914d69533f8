import type { CommitRequest } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { Commits } from "../src/commit.ts";
import { readThread } from "../src/read.ts";
import type { Table } from "../src/table.ts";
import { requestOf } from "./commits.ts";
import { World } from "./explorer/world.ts";

let now = 1_800_000_000_000;
const clock = () => now;
const many = Array.from({ length: 200 }, (_, index) => `large ${index}`);

/** Runs with a table whose next transaction with a page fails as `swap` does, and checks that the texts of the page are all there. */
async function withFault(
  swap: (send: () => ReturnType<Table["swap"]>, other: Commits) => ReturnType<Table["swap"]>,
  run: (commits: Commits) => Promise<unknown>,
): Promise<void> {
  const world = new World(() => 0, {});
  const table = world.tableOf(0);
  const other = new Commits(table, clock);
  let isNext = true;
  const faulty: Table = {
    ...table,
    swap: async (...request) => {
      const send = () => table.swap(...request);
      if (!isNext || request[2].length < 5) return await send();
      isNext = false;
      return await swap(send, other);
    },
  };
  const all = { threadId: "a", limit: Infinity, before: undefined, after: undefined, metadata: false };
  const ended = (async () => {
    await other.commit(requestOf("first", ["1"]));
    await run(new Commits(faulty, clock));
    const { entries } = await readThread(table, { ...all, signal: undefined }, clock, () => undefined);
    return entries.flatMap(({ text }) => (text.startsWith("large") || text === "" ? [text] : []));
  })();
  await world.run([ended.catch(() => undefined)]);
  expect(await ended).toEqual(many);
}

const isLost = async (send: () => Promise<unknown>): Promise<never> => {
  await send();
  throw new Error("the reply is lost");
};

test("a large commit behind one that is refused stays whole, if the reply is lost and it is repeated", async () => {
  await withFault(isLost, async (commits) => {
    const repeated = async (request: CommitRequest) =>
      await commits.commit(request).catch(() => commits.commit(request));
    const outcomes = await Promise.all(
      [requestOf("x", ["x"]), requestOf("y", ["y"], "stale"), requestOf("z", many)].map(repeated),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["committed", "revision-conflict", "repeated"]);
  });
});

test("a large commit stays whole, if an earlier attempt of its request was executed", async () => {
  const twice = async (send: () => ReturnType<Table["swap"]>) => (await send()) ?? (await send());
  await withFault(twice, async (commits) => {
    expect(await commits.commit(requestOf("z", many))).toMatchObject({ outcome: "repeated" });
  });
});

test("a large commit whose reply is lost stays whole, once its operation is forgotten", async () => {
  const others = async (commits: Commits, count: number) => {
    for (let made = 0; made < count; made++) {
      now += 100;
      await commits.commit(requestOf(`${now}`, ["other"]));
    }
  };
  // As `withFault` begins the thread at the time before.
  let other: Commits | undefined;
  const late: Parameters<typeof withFault>[0] = async (send, one) => {
    other = one;
    await send();
    await others(one, 90);
    throw new Error("the reply is lost");
  };
  await withFault(late, async (commits) => {
    now += 14_900;
    await commits.commit(requestOf("z", many)).catch(() => undefined);
    if (other) await others(other, 75);
    await commits.commit(requestOf("next", ["next"]));
  });
});
