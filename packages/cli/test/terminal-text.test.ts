import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonLine, printableId, printableLine, printableText } from "../src/output/terminal-text.ts";

/** Characters that control a terminal or change the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not be shown
const acts = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\u001b", "\u009b", "\u202e", "'", "\\", "$", "\n", "\t", "a"),
    fc.string({ unit: "binary", maxLength: 1 }),
  ),
});

test("no id, line or JSON contains a terminal control character", () => {
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

test("ids without shell metacharacters are unchanged", () => {
  for (const id of ["chat-1", "naïve", "用户", "user@example.com:a/b.c,d+e_f%g"])
    expect(printableId(id)).toBe(id);
});

test("different ids are shown differently", () => {
  fc.assert(
    fc.property(anyText, anyText, (one, other) => {
      fc.pre(one !== other);
      expect(printableId(one)).not.toBe(printableId(other));
    }),
  );
});

const hostile = [
  ...["a\u001b[31m", "line\nfeed", "\u202edi", "$'x'", " padded ", "quote ' and \\ \u0007", "\u{e0001}tag"],
  ...["$(echo x)", "`echo x`", "a b", "a\u00a0b", "\u3164", "\u2800", "a\\b", "$HOME", "!!", "!'!", "~"],
  ...["=ls", "*", "{a,b}", "#a", ";id", "a&b", "x\u00e9\u0007f"],
];

test.each(["C", "C.UTF-8"])(
  "Bash reads an id back in the locale %s, as an argument and at a prompt",
  (locale) => {
    for (const id of hostile) {
      const shown = printableId(id);
      expect(shown).toMatch(/^\$'/);
      const env = { ...process.env, LC_ALL: locale };
      expect(execFileSync("bash", ["--norc", "-c", `printf %s ${shown}`], { env }).toString()).toBe(id);
      // With history expansion, which interprets "!".
      const typed = `set -o history; set -H\ntrue of history\nprintf %s ${shown}\n`;
      expect(execFileSync("bash", ["--norc"], { env, input: typed }).toString()).toBe(id);
    }
  },
);

test("an id with NUL is shown as JSON, which an argument cannot be mistaken for", () => {
  for (const id of ["nul\0x", "\0$(echo x)`echo x`\"'\\!é\u{1f642}"]) {
    const shown = printableId(id);
    expect(JSON.parse(shown)).toBe(id);
    expect(shown).toMatch(/^"[\w\\]+"$/);
    expect(execFileSync("bash", ["--norc", "-c", `printf %s ${shown}`]).toString()).toBe(shown.slice(1, -1));
  }
});
