import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { guarded, reporter, resultNow } from "../src/internal.ts";

const warnings: unknown[] = [];
const unhandled: unknown[] = [];
const onUnhandled = (error: unknown) => void unhandled.push(error);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(warning));
  process.on("unhandledRejection", onUnhandled);
});
afterEach(async () => {
  await sleep(2);
  process.off("unhandledRejection", onUnhandled);
  vi.restoreAllMocks();
  vi.useRealTimers();
  expect(unhandled.splice(0)).toEqual([]);
});

const boom = (): never => {
  throw new Error("boom");
};
const late = async () => {
  await sleep(1);
  boom();
};

test("reporter: an onError that throws or rejects late becomes a warning; it is not awaited", async () => {
  warnings.length = 0;
  const heard: unknown[] = [];
  reporter((...args: [number, string]) => heard.push(args))(1, "a");
  reporter(() => new Promise(() => undefined))();
  expect([heard, warnings]).toEqual([[[1, "a"]], []]);
  reporter(boom)();
  reporter(late)();
  await sleep(5);
  expect(warnings).toEqual(["onError: boom", "onError: boom"]);
});

test("reporter: without an onError each error becomes a warning, once for its message", () => {
  warnings.length = 0;
  const report = reporter<[unknown, string]>(undefined);
  const error = new Error("no table; run setup()");
  for (const one of [error, error, new Error("no table; run setup()"), "refused"]) report(one, "a");
  reporter(undefined)(error);
  expect(warnings).toEqual([
    expect.objectContaining({ name: "ScrollbackWarning", message: error.message, cause: error }),
    expect.objectContaining({ message: "refused" }),
  ]);
});

test("guarded: an error, a promise and a refused result are reported, and the default is used", async () => {
  const errors: unknown[] = [];
  const handling = {
    ...{ name: "preview", onError: (error: unknown) => void errors.push(error) },
    check: (value: unknown) => (typeof value === "string" ? undefined : "must be a string"),
    otherwise: () => "default",
  };
  expect(guarded(() => "text", handling)()).toBe("text");
  const failing: (() => unknown)[] = [boom, late, () => new Promise(() => undefined), () => 1];
  for (const callback of failing) expect(guarded(callback as () => string, handling)()).toBe("default");
  expect(errors).toMatchObject([
    { message: "boom" },
    { message: "preview: must return its result, not a promise" },
    { message: "preview: must return its result, not a promise" },
    { message: "preview: the result must be a string" },
  ]);
  expect(() => resultNow("update", late())).toThrow(/not a promise/);
});
