import { format } from "mysql2";
import { expect, test } from "vitest";
import { amendStatement } from "../src/amend.ts";

const sqlOf = (...amendments: Parameters<typeof amendStatement>[2]) => {
  const found = amendStatement("`t`", "s", amendments);
  return found && format(found.sql, [...found.values]);
};

test("the amendments of a call are one statement, an assignment for each part", () => {
  expect(
    sqlOf(
      { from: 1, to: 3, blank: "all", expiresAt: 100 },
      { from: 2, to: Number.POSITIVE_INFINITY, extend: { to: 9, atLeast: 4 } },
      { from: 5, to: 6, extend: { to: null, atLeast: 7 } },
    ),
  ).toBe(
    "UPDATE `t` SET content = CASE WHEN number >= 1 AND number < 3 THEN NULL ELSE content END, " +
      "expires_at = CASE WHEN number >= 1 AND number < 3 THEN 100 ELSE expires_at END, " +
      "expires_at = CASE WHEN number >= 2 AND number < 9007199254740992 AND expires_at >= 4 AND expires_at < 9 THEN 9 ELSE expires_at END, " +
      "expires_at = CASE WHEN number >= 5 AND number < 6 AND expires_at >= 7 THEN NULL ELSE expires_at END " +
      "WHERE stream = X'73' AND (number >= 1 AND number < 3 OR number >= 2 AND number < 9007199254740992 OR number >= 5 AND number < 6)",
  );
});

test("a call that changes nothing sends nothing", () => {
  expect(sqlOf()).toBeUndefined();
  expect(sqlOf({ from: 1, to: 3 })).toBeUndefined();
});
