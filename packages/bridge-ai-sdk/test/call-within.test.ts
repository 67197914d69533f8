import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { callWithin } from "../src/turn/call-within.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

test("callWithin: a callback that does not finish in time is UNAVAILABLE, and its signal is aborted", async () => {
  expect(await callWithin(10, "title", () => "now")).toBe("now");
  expect(await callWithin(10, "title", async () => "soon")).toBe("soon");
  await expect(callWithin(10, "title", () => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
  const { promise, reject } = Promise.withResolvers<string>();
  let signal: AbortSignal | undefined;
  const called = callWithin(10_000, "title", (given) => {
    signal = given;
    return promise;
  });
  const refused = expect(called).rejects.toMatchObject({
    ...{ code: "UNAVAILABLE", message: "title: did not finish within 10000 ms" },
  });
  await vi.advanceTimersByTimeAsync(9_999);
  expect(signal?.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await refused;
  expect(signal?.aborted).toBe(true);
  reject(new Error("too late"));
});
