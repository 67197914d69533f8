import { expect, test } from "vitest";
import { retryOnConflict, StoreError } from "../src/index.ts";

function conflicting() {
  let made = 0;
  const attempt = async (): Promise<never> => {
    made++;
    throw new StoreError("CONFLICT", `attempt ${made}`);
  };
  return { attempt, made: () => made };
}

test("an abort during a pause between two attempts rejects with ABORTED at once, without another attempt", async () => {
  const { attempt, made } = conflicting();
  const controller = new AbortController();
  const retried = retryOnConflict(
    () => {
      if (made() === 3) queueMicrotask(() => controller.abort("enough"));
      return attempt();
    },
    { signal: controller.signal },
  );
  await expect(retried).rejects.toMatchObject({ name: "StoreError", code: "ABORTED", cause: "enough" });
  expect(made()).toBe(4);
});

test("the conflict of the last attempt is thrown, and any other error at once", async () => {
  const { attempt, made } = conflicting();
  await expect(retryOnConflict(attempt, { attempts: 3, longestPause: 0 })).rejects.toMatchObject({
    message: "attempt 3",
  });
  expect(made()).toBe(3);
  const broken = async () => {
    throw new StoreError("CORRUPT", "once");
  };
  await expect(retryOnConflict(broken)).rejects.toMatchObject({ code: "CORRUPT" });
});
