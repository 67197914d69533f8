import { expect, test } from "vitest";
import { formatRevision, parseRevision } from "../src/driver/revision.ts";

test.each([
  ["SJWmiGVEmVFHbZgP", 1, undefined, "SJWmiGVEmVFHbZgP.1"],
  ["a-b_c", Number.MAX_SAFE_INTEGER, undefined, "a-b_c.9007199254740991"],
  ["a-1", 12, "34_-5678", "a-1.12-34_-5678"],
  ["a", 2, "-9", "a.2--9"],
])("the parts of a revision: %s, %i, %s", (incarnation, number, tag, revision) => {
  expect(formatRevision(incarnation, number, tag)).toBe(revision);
  expect(parseRevision(revision)).toEqual({ incarnation, number });
});
