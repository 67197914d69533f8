import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, putValues, threadIds } from "./checkpoints.ts";

/** A saver, and others on the same stores, as in other processes. */
function connect(driver = new MemoryDriver()) {
  const watched = new WatchedDriver(driver);
  return { watched, driver, saver: new ScrollbackSaver({ stores: createStores(watched) }) };
}

describe("pending writes", () => {
  test("are ordered by task path, task and index, by code point, independent of arrival", async () => {
    const { saver } = connect();
    const config = await putValues(saver, configOf(), "1", {});
    const calls: [taskId: string, taskPath: string | undefined, channels: string[]][] = [
      ["a", "~__pregel_pull, z", ["a1", "a2"]],
      ["b", "\u{1F600}", ["b1"]],
      ["c", "\uFFFD", ["c1"]],
      ["z", undefined, ["z1"]],
      ["y", "~__pregel_pull, a", ["y1", "__error__"]],
      ["x", "~__pregel_pull, a", ["x1"]],
    ];
    for (const [taskId, taskPath, channels] of calls) {
      const writes = channels.map((channel): [string, unknown] => [channel, taskId]);
      await saver.putWrites(config, writes, taskId, taskPath);
    }
    const expected = ["z1", "x1", "__error__", "y1", "a1", "a2", "c1", "b1"];
    const tuple = await saver.getTuple(config);
    expect(tuple?.pendingWrites?.map(([, channel]) => channel)).toEqual(expected);
    const [fromList] = await listed(saver.list(configOf()));
    expect(fromList?.pendingWrites).toEqual(tuple?.pendingWrites);
    await putValues(saver, config, "2", {});
    const history = await saver.getDeltaChannelHistory({
      config: configOf("t", "2"),
      channels: ["y1", "a1"],
    });
    expect(history).toEqual({ y1: { writes: [["y", "y1", "y"]] }, a1: { writes: [["a", "a1", "a"]] } });
  });

  test("of a task that ran twice are those of the first run; of errors and interrupts the last ones", async () => {
    const { saver } = connect();
    const config = await putValues(saver, configOf(), "1", {});
    await saver.putWrites(
      config,
      [
        ["a", 1],
        ["__interrupt__", "first"],
      ],
      "task",
    );
    await saver.putWrites(
      config,
      [
        ["b", 2],
        ["__interrupt__", "second"],
      ],
      "task",
    );
    await saver.putWrites(config, [["a", 3]], "other");
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([
      ["other", "a", 3],
      ["task", "__interrupt__", "second"],
      ["task", "a", 1],
    ]);
  });

  test("can precede their checkpoint, from another process, and are deleted also if it never arrives", async () => {
    const { saver, driver } = connect();
    const config = configOf("t", "1");
    await connect(driver).saver.putWrites(config, [["a", 1]], "task");
    expect(await saver.getTuple(config)).toBeUndefined();
    expect(await saver.getTuple(configOf())).toBeUndefined();
    await connect(driver).saver.putWrites(config, [["b", 2]], "task 2");
    await putValues(saver, configOf(), "1", {});
    await saver.putWrites(config, [["c", 3]], "task 3");
    expect((await saver.getTuple(config))?.pendingWrites?.map(([, channel]) => channel)).toEqual([
      "a",
      "b",
      "c",
    ]);
    await saver.putWrites(configOf("other", "9"), [["a", 1]], "task");
    await saver.deleteThread("t");
    await saver.deleteThread("other");
    expect(await threadIds(createStores(driver))).toEqual([]);
  });

  test("that are empty write nothing", async () => {
    const { saver, watched } = connect();
    await saver.putWrites(configOf("t", "1"), [], "task");
    expect([...watched.commits, ...watched.reads]).toEqual([]);
  });
});
