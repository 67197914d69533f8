import { expect, test } from "vitest";
import { formatIdCursor, parseIdCursor } from "../src/driver.ts";

test.each(["a", "a/\0💬", "after.", "é".repeat(512)])("a cursor leads back to its id: %j", (id) => {
  expect(parseIdCursor("listThreads", { prefix: "", cursor: formatIdCursor(id) })).toBe(id);
  expect(parseIdCursor("listThreads", { prefix: id, cursor: formatIdCursor(id) })).toBe(id);
});

test("without a cursor there is no id", () => {
  expect(parseIdCursor("listIndexes", { prefix: "a", cursor: undefined })).toBeUndefined();
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
  formatIdCursor("b/1"),
])("another text is refused: %j", (cursor) => {
  expect(() => parseIdCursor("listThreads", { prefix: "a", cursor })).toThrow(
    expect.objectContaining({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("listThreads: cursor"),
    }),
  );
});
