import { describe, expect, test, vi } from "vitest";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { directory, setUp, sizes } from "./marked-scene.ts";

describe("requests", () => {
  withoutChance();

  test("one mark covers the writes of 30 s, and one note records them", async () => {
    const { driver, directories, write } = setUp();
    for (let n = 0; n < 10; n++) await write("a", n);
    expect(driver.take()).toEqual(["commit d"]);
    await directories.flush();
    // The open marks, once; the last state and the end of the mark.
    expect(driver.take()).toEqual(["read d", "commit d"]);
    await write("a", 11);
    expect(driver.take()).toEqual(["commit d"]);
    await directories.flush();
    expect(driver.take()).toEqual(["commit d"]);
  });

  test("a note follows within a second, and the mark is closed after 30", async () => {
    vi.useFakeTimers();
    try {
      const { driver, directories, write, list, reads } = setUp();
      await write("a", 1);
      await vi.advanceTimersByTimeAsync(1_001);
      expect((await directories.read(directory)).notes).toHaveLength(2);
      driver.take();
      await vi.advanceTimersByTimeAsync(20_000);
      await write("a", 2);
      expect(driver.take()).toEqual([]);
      await vi.advanceTimersByTimeAsync(12_000);
      expect(await list()).toEqual(["a"]);
      expect(reads).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a list is one read, and one more for each member with a write in progress", async () => {
    const { driver, directories, write, list, reads } = setUp();
    for (let n = 0; n < 30; n++) await write(`m${n}`, n);
    await directories.flush();
    driver.take();
    expect(await list()).toHaveLength(30);
    expect(driver.take()).toEqual(["read d"]);
    expect(reads).toEqual([]);
    await write("m7", 100);
    await write("m9", 101);
    expect((await list()).slice(0, 3)).toEqual(["m9", "m7", "m29"]);
    expect(reads.sort()).toEqual(["m7", "m9"]);
  });

  test("a process that writes to many members leaves few of them for lists to read", async () => {
    const { driver, directories, write, list, reads } = setUp();
    for (let n = 0; n < 500; n++) await write(`m${String(n).padStart(3, "0")}`, n);
    driver.take();
    expect(await list()).toHaveLength(500);
    expect(reads.length).toBeLessThanOrEqual(32 + 1);
    await directories.compact(directory);
    expect((await directories.read(directory)).notes.length).toBeLessThan(128 + 3);
    await Promise.all(Array.from({ length: 100 }, (_, n) => write(`more${n}`, 500 + n)));
    expect(await list()).toHaveLength(600);
  });

  test("a page of a sorted directory reads only its leaves", async () => {
    const { driver, directories, write, read } = setUp({ sizes });
    for (let n = 0; n < 80; n++) await write(`m${String(n).padStart(2, "0")}`, n);
    await directories.flush();
    await directories.compact(directory);
    const counts = (await directories.read(directory)).root.leaves.map(({ count }) => count);
    expect(counts[0]).toBe(2);
    expect(Math.max(...counts)).toBe(8);
    expect(counts.length).toBeLessThanOrEqual(13);
    driver.take();
    await directories.page(directory, { limit: 1, read });
    expect(driver.take()).toEqual(["read d"]);
    await directories.page(directory, { limit: 8, read });
    expect(driver.take().length).toBeLessThanOrEqual(3);
  });

  test("a compaction and a purge announce a leaf before they write it, and delete the one that it replaces", async () => {
    const { driver, directories, write, remove } = setUp({ sizes });
    for (let n = 0; n < 20; n++) await write(`m${String(n).padStart(2, "0")}`, n);
    await directories.flush();
    await directories.compact(directory);
    for (const key of ["m03", "m04"]) for (let n = 0; n < 2; n++) await write(key, 3 + n / 10);
    await directories.flush();
    driver.take();
    await directories.compact(directory);
    expect(driver.take()).toEqual([
      "read d",
      "read leaf",
      ...["commit d", "commit leaf", "commit d"],
      "delete leaf",
    ]);
    await remove("m05");
    expect(driver.take()).toEqual([
      "commit d",
      ...["read d", "read leaf", "delete leaf"],
      ...["commit d", "commit leaf", "commit d"],
      "delete leaf",
    ]);
  });
});
