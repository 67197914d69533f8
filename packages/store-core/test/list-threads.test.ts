import { describe, expect, test } from "vitest";
import { createStores, MemoryDriver } from "../src/driver.ts";
import type { StoreError } from "../src/index.ts";

describe("listThreads", () => {
  test("a thread that the driver cannot list fails with CORRUPT, or is passed to onCorruptRecord", async () => {
    const driver = new MemoryDriver();
    const { list } = driver;
    driver.list = async (request) => ({
      ...(await list.call(driver, request)),
      corrupt: [{ threadId: "damaged", problem: "its head is gone" }],
    });
    await createStores(driver).open("sound").commit({ metadata: "title" });
    await expect(createStores(driver).listThreads()).rejects.toMatchObject({
      code: "CORRUPT",
      threadId: "damaged",
      message: 'thread "damaged" cannot be listed: its head is gone',
    });
    const reported: StoreError[] = [];
    const stores = createStores(driver, { onCorruptRecord: (error) => reported.push(error) });
    const { threads } = await stores.listThreads();
    expect(threads.map(({ threadId }) => threadId)).toEqual(["sound"]);
    expect(reported).toMatchObject([{ threadId: "damaged" }]);
  });
});
