import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonLine, printableId, printableLine, printableText } from "../src/terminal-text.ts";

/** What a terminal acts upon, and what turns the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
const acts = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\u001b", "\u009b", "\u202e", "'", "\\", "$", "\n", "\t", "a"),
    fc.string({ unit: "binary", maxLength: 1 }),
  ),
});

test("no id, line or JSON holds a character that a terminal acts upon", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(printableId(text)).not.toMatch(acts);
      expect(printableLine(text)).not.toMatch(acts);
      expect(jsonLine({ text })).not.toMatch(acts);
      expect(printableText(text).replace(/[\n\t]/g, "")).not.toMatch(acts);
    }),
  );
});

test("JSON stays the same value", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(JSON.parse(jsonLine({ text }))).toEqual({ text });
    }),
  );
});

test("ids that can be seen stay as they are", () => {
  for (const id of ["chat-1", "a b", "naïve", "用户", "👩‍👩‍👧", "it's", "a\\b", "$HOME"].filter(
    (one) => !/\p{Cf}/u.test(one),
  )) {
    expect(printableId(id)).toBe(id);
  }
});

test("two ids are never shown alike", () => {
  fc.assert(
    fc.property(anyText, anyText, (one, other) => {
      fc.pre(one !== other);
      expect(printableId(one)).not.toBe(printableId(other));
    }),
  );
});

test("Bash takes an escaped id back", () => {
  for (const id of [
    "a\u001b[31m",
    "line\nfeed",
    "\u202edi",
    "$'x'",
    " padded ",
    "quote ' and \\ \u0007",
    "\u{e0001}tag",
  ]) {
    const shown = printableId(id);
    expect(shown).toMatch(/^\$'/);
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    expect(execFileSync("bash", ["-c", `printf %s ${shown}`], { env }).toString()).toBe(id);
  }
});
