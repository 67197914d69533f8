import { expect, test } from "vitest";
import { IdCursor } from "../src/driver.ts";

test.each(["a", "a/\0💬", "after.", "é".repeat(512)])("a cursor leads back to its id: %j", (id) => {
  expect(IdCursor.parse("listThreads", { prefix: "", cursor: IdCursor.format(id) })).toBe(id);
  expect(IdCursor.parse("listThreads", { prefix: id, cursor: IdCursor.format(id) })).toBe(id);
});

test("without a cursor there is no id", () => {
  expect(IdCursor.parse("listIndexes", { prefix: "a", cursor: undefined })).toBeUndefined();
});

test.each([
  "",
  "after.",
  "other.YQ",
  "after.YQ==",
  "after.YR",
  "after.!",
  // Not UTF-8.
  `after.${Buffer.from([0xff]).toString("base64url")}`,
  IdCursor.format("b/1"),
])("another text is refused: %j", (cursor) => {
  expect(() => IdCursor.parse("listThreads", { prefix: "a", cursor })).toThrow(
    expect.objectContaining({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("listThreads: cursor"),
    }),
  );
});
