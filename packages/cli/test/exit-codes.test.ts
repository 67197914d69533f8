import { StoreError } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { CommandError, exitCodeOf, exitCodes, Interruption, worse } from "../src/output/exit-codes.ts";

test("the documented exit code is returned if several apply", () => {
  const order = [6, 1, 141, 2, 4, 5, 3, 0];
  for (const [index, code] of order.entries()) {
    for (const later of order.slice(index)) {
      expect(worse(code, later)).toBe(code);
      expect(worse(later, code)).toBe(code);
    }
  }
});

test.each([
  [new StoreError("UNAVAILABLE", ""), exitCodes.unavailable],
  [new StoreError("CORRUPT", ""), exitCodes.damaged],
  [new StoreError("CONFLICT", ""), exitCodes.conflict],
  [new StoreError("TOO_LARGE", ""), exitCodes.conflict],
  [new StoreError("UNSUPPORTED", ""), exitCodes.usage],
  [new CommandError(5, ""), 5],
  [new Interruption("SIGINT", 2), 130],
  [new Error("unexpected"), exitCodes.failed],
])("%s has its exit code", (error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});
