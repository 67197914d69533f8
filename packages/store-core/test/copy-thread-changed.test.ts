import { describe, expect, test } from "vitest";
import { createStores, MemoryDriver } from "../src/driver.ts";
import { createMemoryStores, type StoreFactory } from "../src/index.ts";

const user = (content: string) => ({ role: "user" as const, content });
const CONFLICT = { code: "CONFLICT" };

async function stores(count = 1_500): Promise<StoreFactory> {
  const made = createMemoryStores();
  await made.open("from").addMessages(Array.from({ length: count }, (_, index) => user(`${index + 1}`)));
  return made;
}

/** Stops a copy after its first commit. */
async function begin(made: StoreFactory): Promise<void> {
  const onProgress = () => {
    throw new Error("stopped");
  };
  await expect(made.copyThread("from", "to", { onProgress })).rejects.toThrow("stopped");
}

describe("copyThread does not continue", () => {
  test.each([
    ["added to", (made: StoreFactory) => made.open("to").addMessages([user("another's")])],
    ["shortened", (made: StoreFactory) => made.open("to").popMessage()],
    ["given an expiry", (made: StoreFactory) => made.open("to").expire(60_000)],
  ])("if the unfinished copy was %s", async (_, change) => {
    const made = await stores();
    await begin(made);
    await change(made);
    await expect(made.copyThread("from", "to")).rejects.toMatchObject(CONFLICT);
  });

  test("if the source is an unfinished copy", async () => {
    const made = await stores();
    await begin(made);
    await expect(made.copyThread("to", "third")).rejects.toMatchObject(CONFLICT);
    expect((await made.open("third").read()).revision).toBeNull();
  });
});

test("remembered operations of a repeatedly deleted thread are forgotten after 10 s", async () => {
  let now = 1_000_000;
  const driver = new MemoryDriver({ clock: { wall: () => now } });
  const made = createStores(driver);
  const store = made.open("again");
  const ids: string[] = [];
  for (let round = 0; round < 5; round++) {
    const operationId = `round ${round}`;
    ids.push(operationId);
    await store.addMessages([user("same")], { operationId });
    await made.deleteThread("again");
    now += 4_000;
  }
  const revisions = await Promise.all(
    ids.slice(-2).map((operationId) => store.addMessages([user("same")], { operationId })),
  );
  expect((await store.read()).revision, "the newest two operations are known").toBeNull();
  expect(new Set(revisions).size).toBe(2);
  await store.addMessages([user("same")], { operationId: "round 0" });
  expect((await store.read()).count, "the oldest operation is forgotten").toBe(1);
});

test("inherited options are refused", async () => {
  const store = createMemoryStores().open("t");
  const options = Object.create({ createdAt: -5 });
  await expect(store.addMessages([user("a")], options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect((await store.read()).revision).toBeNull();
  const signal = new EventTarget() as AbortSignal;
  await expect(store.read({ signal })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});
