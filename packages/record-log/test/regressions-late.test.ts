import type { Change } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { addEach, contentsOf, DAY, holdBack, type ProcessOptions, Scene, user } from "./scenes.ts";

// Processes with a wrong clock, and requests and replies that arrive days late.

describe("a process whose clock is 24 hours behind", () => {
  /** Writes and trims in that process, between two commits of another process that uses its cache. */
  async function writeBesideSlowClock() {
    const scene = new Scene();
    const [right, behind] = [scene.open({ maxMessages: 10 }), scene.open({ maxMessages: 10, behind: DAY })];
    const revisions = [await right.store.addMessages([user("first")])];
    for (let index = 0; index < 200; index++) {
      revisions.push(await behind.store.addMessages([user(`behind ${index}`)]));
    }
    scene.wait(0);
    revisions.push(await right.store.addMessages([user("last")]));
    return { revisions, kept: await contentsOf(scene.open().store) };
  }

  test("C17 does not lose an acknowledged commit of another process", async () => {
    const { kept } = await writeBesideSlowClock();
    expect(kept.at(-1)).toBe("last");
    expect(kept).toHaveLength(10);
  });

  test("C5 does not repeat a revision", async () => {
    const { revisions } = await writeBesideSlowClock();
    expect(revisions.filter((revision, index) => revisions.indexOf(revision) < index)).toEqual([]);
  });
});

test("C17 a row that arrives ten days late hides no message of the thread's next incarnation", async () => {
  const scene = new Scene();
  const options = { ttlMs: DAY };
  const [late, other] = [scene.open(options), scene.open(options)];
  await addEach(late.store, 3, "expired ");
  const held = holdBack(late.log, ({ verb }) => verb === "insert");
  const adding = late.store.addMessages([user("late")]);
  await held.isReached;
  scene.wait(10 * DAY);
  const added = await addEach(other.store, 2, "before ");
  held.release();
  await adding;
  added.push("late", ...(await addEach(other.store, 5, "after ")));
  expect(await contentsOf(other.store)).toEqual(added);
});

describe("a process that is paused for three days", () => {
  /** The outcome for a paused process: it has committed, or the outcome is unknown to it. */
  async function outcomeOf(commit: Promise<unknown>): Promise<"committed" | "unknown"> {
    try {
      await commit;
      return "committed";
    } catch (error) {
      expect(error).toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching("outcome is unknown"),
      });
      return "unknown";
    }
  }

  test("C17 hides no message when its insert arrives on a freed key", async () => {
    const scene = new Scene();
    const [paused, other] = [scene.open(), scene.open()];
    const added = await addEach(paused.store, 10, "first ");
    const replaced = ["paused 0", "paused 1", "paused 2"];
    const held = holdBack(paused.log, ({ verb }) => verb === "insert");
    const committing = outcomeOf(paused.store.commit({ drop: 3, append: replaced.map(user) }));
    await held.isReached;
    await other.store.commit({ metadata: "a title" });
    await other.store.commit({ metadata: null });
    for (let day = 0; day < 3; day++) {
      added.push(...(await addEach(other.store, 100, `day ${day}, `)));
      scene.wait(DAY + 1);
    }
    held.release();
    if ((await committing) === "committed") added.splice(-3, 3, ...replaced);
    expect(await contentsOf(other.store)).toEqual(added);
    expect(await contentsOf(paused.store)).toEqual(added);
  });

  test.each<[string, Change]>([
    ["drops a message", { drop: 1 }],
    ["sets the metadata", { metadata: "a title" }],
  ])("C2 does not damage its message when its reply is late and the next commit %s", async (_, change) => {
    const scene = new Scene();
    const [paused, other] = [scene.open(), scene.open()];
    const added = await addEach(paused.store, 3, "first ");
    const held = holdBack(paused.log, ({ verb }) => verb === "insert", "reply");
    const adding = outcomeOf(paused.store.addMessages([user("paused 0"), user("paused 1")]));
    await held.isReached;
    await other.store.commit(change);
    await other.store.commit({ metadata: "another title" });
    added.push("paused 0", ...(change.drop ? [] : ["paused 1"]));
    for (let day = 0; day < 3; day++) {
      added.push(...(await addEach(other.store, 100, `day ${day}, `)));
      scene.wait(DAY + 1);
    }
    held.release();
    await adding;
    expect(await contentsOf(other.store)).toEqual(added);
  });
});

test("C17 a refused insert that arrives days late is not taken for the end of the thread", async () => {
  const scene = new Scene();
  const options = { maxMessages: 3 };
  const [paused, other] = [scene.open(options), scene.open(options)];
  await addEach(paused.store, 1, "first ");
  await addEach(other.store, 1, "winner ");
  // The refusal returns the winning row.
  const held = holdBack(paused.log, ({ verb }) => verb === "insert", "reply");
  const adding = paused.store.addMessages([user("paused")]);
  await held.isReached;
  for (let day = 0; day < 3; day++) {
    await addEach(other.store, 100, `day ${day}, `);
    scene.wait(DAY + 1);
  }
  held.release();
  await adding;
  expect(await contentsOf(other.store)).toEqual(["day 2, 98", "day 2, 99", "paused"]);
});

test("C11 an amendment that arrives ten days late damages no message of the next incarnation", async () => {
  const scene = new Scene();
  const options = { ttlMs: DAY };
  const [late, other] = [scene.open(options), scene.open(options)];
  await addEach(late.store, 3, "expired ");
  const held = holdBack(late.log, ({ verb }) => verb === "amend");
  const clearing = late.store.clear();
  await held.isReached;
  scene.wait(10 * DAY);
  const added = await addEach(other.store, 5, "live ");
  held.release();
  await clearing;
  expect(await contentsOf(other.store)).toEqual(added);
});

describe("a read whose second page arrives ten days late", () => {
  const MESSAGES = 600;

  /** The result of a read whose process is paused between two pages while `meanwhile` runs. */
  async function readSlowly(options: ProcessOptions, meanwhile: (scene: Scene) => Promise<void>) {
    const scene = new Scene();
    const [writer, reader] = [scene.open(options), scene.open(options)];
    await addEach(writer.store, MESSAGES, "first ");
    let pages = 0;
    const held = holdBack(reader.log, ({ verb }) => verb === "read" && ++pages === 2);
    const reading = contentsOf(reader.store);
    await held.isReached;
    await meanwhile(scene);
    held.release();
    return { read: await reading, now: await contentsOf(scene.open(options).store) };
  }

  test("C11 returns nothing when the thread has expired and its rows are deleted meanwhile", async () => {
    const { read, now } = await readSlowly({ ttlMs: DAY }, async (scene) => scene.wait(10 * DAY));
    expect(now).toEqual([]);
    expect(read).toEqual([]);
  });

  test("C7 returns one revision when all that it has read is trimmed and deleted meanwhile", async () => {
    const options = { maxMessages: MESSAGES };
    const { read, now } = await readSlowly(options, async (scene) => {
      for (let day = 0; day < 10; day++) {
        await addEach(scene.open(options).store, 100, `day ${day}, `);
        scene.wait(DAY);
      }
    });
    expect(now).toHaveLength(MESSAGES);
    expect(read).toEqual(now);
  });
});
