import { expect, test } from "vitest";
import { retryOnConflict, StoreError } from "../src/index.ts";
import { retry } from "../src/internal.ts";

/** A clock that records the longest time of each pause. */
function recordingClock() {
  const pauses: number[] = [];
  const sleep = async (ms: number) => {
    pauses.push(ms);
  };
  return { pauses, clock: { sleep } };
}

const conflict = async (made: number): Promise<never> => {
  throw new StoreError("CONFLICT", `attempt ${made}`);
};

test("pauses double from 25 ms until longestPause, on the given clock", async () => {
  const { pauses, clock } = recordingClock();
  await expect(retry(conflict, { attempts: 6, longestPause: 2, clock })).rejects.toThrow("attempt 5");
  expect(pauses).toEqual([25, 50, 100, 100, 100]);
});

test("the second attempt follows a cached first one without a pause", async () => {
  const { pauses, clock } = recordingClock();
  await expect(retry(conflict, { attempts: 4, isFirstCached: true, clock })).rejects.toThrow("attempt 3");
  expect(pauses).toEqual([50, 100]);
});

test("an attempt gets the number of earlier ones, and its result ends the retries", async () => {
  const { clock } = recordingClock();
  const attempt = async (made: number) => (made < 2 ? await conflict(made) : made);
  expect(await retry(attempt, { clock })).toBe(2);
});

test("isRetryable decides by the error and the number of attempts", async () => {
  const { pauses, clock } = recordingClock();
  const seen: string[] = [];
  const isRetryable = (error: unknown, made: number) => {
    seen.push(`${made}: ${String(error)}`);
    return made < 2;
  };
  const broken = async (made: number) => Promise.reject(new Error(`broken ${made}`));
  await expect(retry(broken, { isRetryable, clock })).rejects.toThrow("broken 1");
  expect(seen).toEqual(["1: Error: broken 0", "2: Error: broken 1"]);
  expect(pauses).toHaveLength(1);
});

test("exhausted gives the error after the last attempt only", async () => {
  const { clock } = recordingClock();
  const exhausted = (error: unknown, attempts: number) => new Error(`${attempts} lost`, { cause: error });
  const retries = { attempts: 3, exhausted, clock };
  await expect(retry(conflict, retries)).rejects.toMatchObject({
    message: "3 lost",
    cause: { message: "attempt 2" },
  });
  const closed = async () => Promise.reject(new StoreError("CLOSED", "closed"));
  await expect(retry(closed, retries)).rejects.toMatchObject({ code: "CLOSED" });
});

test("an abort during a pause between two attempts rejects with ABORTED at once, without another attempt", async () => {
  const controller = new AbortController();
  let made = 0;
  const attempt = () => {
    made += 1;
    if (made === 4) queueMicrotask(() => controller.abort("enough"));
    return conflict(made);
  };
  const retried = retryOnConflict(attempt, { signal: controller.signal });
  await expect(retried).rejects.toMatchObject({ name: "StoreError", code: "ABORTED", cause: "enough" });
  expect(made).toBe(4);
});
