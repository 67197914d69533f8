import { expect, onTestFinished, test, vi } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";

test("C5 a commit sent again after its thread expired repeats no revision", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const driver: Driver = new MemoryDriver();
  const { commit } = driver;
  const seen: (string | null)[] = [];
  const reader = createStores(driver).open("t");
  // The first attempt's reply is lost, and the thread expires before the second.
  driver.commit = async (request) => {
    const outcome = await commit.call(driver, request);
    if (seen.length > 0) return outcome;
    seen.push((await reader.read()).revision);
    vi.advanceTimersByTime(60);
    expect((await reader.read()).revision).toBeNull();
    throw new Error("the reply was lost");
  };
  driver.classifyError = () => ({ code: "UNAVAILABLE", message: "away", retryable: true });
  const revision = await createStores(driver, { ttlMs: 50 })
    .open("t")
    .addMessages([{ role: "user", content: "hello" }]);
  expect(seen[0]).toEqual(expect.any(String));
  expect(revision).not.toBe(seen[0]);
  const stale = reader.addMessages([{ role: "user", content: "stale" }], {
    expectedRevision: seen[0] ?? null,
  });
  await expect(stale).rejects.toMatchObject({ code: "CONFLICT" });
});
