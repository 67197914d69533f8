import { expect, test } from "vitest";
import {
  type CommitRequest,
  createStores,
  type DeleteRequest,
  type Driver,
  MemoryDriver,
} from "../src/driver.ts";

const hello = { role: "user", content: "hello" } as const;

/** A driver that loses the reply to its first commit, and a record of its requests. */
function losingTheFirstReply() {
  const driver: Driver = new MemoryDriver();
  const { commit } = driver;
  const requests: CommitRequest[] = [];
  driver.commit = async (request) => {
    requests.push(request);
    const outcome = await commit.call(driver, request);
    if (requests.length === 1) throw new Error("the reply was lost");
    return outcome;
  };
  driver.classifyError = () => ({ code: "UNAVAILABLE", message: "away", retryable: true });
  return { driver, requests };
}

test("C4 an operation is new only on the first attempt under the store's own id", async () => {
  const own = losingTheFirstReply();
  const store = createStores(own.driver).open();
  await store.addMessages([hello]);
  expect(own.requests.map(({ isNewOperation }) => isNewOperation)).toEqual([true, false]);
  expect(await store.listMessages()).toEqual([hello]);

  const given = losingTheFirstReply();
  await createStores(given.driver).open().addMessages([hello], { operationId: "given" });
  expect(given.requests.map(({ isNewOperation }) => isNewOperation)).toEqual([false, false]);
});

test("C4 the digest distinguishes changes under a caller's id, and is constant under the store's own id", async () => {
  const digests: string[] = [];
  const driver: Driver = new MemoryDriver();
  const { commit } = driver;
  driver.commit = (request) => {
    digests.push(request.digest);
    return commit.call(driver, request);
  };
  const store = createStores(driver).open();
  const other = { role: "user", content: "other" } as const;
  await store.addMessages([hello], { operationId: "1" });
  await store.addMessages([hello], { operationId: "2" });
  await store.addMessages([other], { operationId: "3" });
  await store.addMessages([hello]);
  await store.addMessages([other]);
  const [first, same, different, ...own] = digests;
  expect(same).toBe(first);
  expect(different).not.toBe(first);
  for (const digest of digests.slice(0, 3)) expect(digest).toMatch(/^[\w-]{22}$/);
  expect(own).toEqual(["own", "own"]);
});

test("C4 a repeated commit or deletion must be sent within 6 seconds of the first attempt", async () => {
  const driver: Driver = new MemoryDriver();
  const sent: (CommitRequest | DeleteRequest)[] = [];
  const losing = <R extends CommitRequest | DeleteRequest, O>(verb: (request: R) => Promise<O>) =>
    async function lose(request: R): Promise<O> {
      sent.push(request);
      const outcome = await verb.call(driver, request);
      if (sent.length < 3) throw new Error("the reply was lost");
      return outcome;
    };
  driver.commit = losing(driver.commit);
  driver.delete = losing(driver.delete);
  driver.classifyError = () => ({ code: "UNAVAILABLE", message: "away", retryable: true });
  const stores = createStores(driver);
  for (const write of [() => stores.open("a").addMessages([hello]), () => stores.deleteThread("a")]) {
    sent.length = 0;
    const [before] = [performance.now(), await write()];
    const [first, second, third] = sent.map(({ sendBefore }) => sendBefore);
    expect(first).toBeUndefined();
    expect(second).toBeGreaterThanOrEqual(before + 6_000);
    expect(second).toBeLessThan(before + 7_000);
    expect(third).toBe(second);
  }
});
