import { expect, test } from "vitest";
import { fromText, SEPARATOR, toText } from "../src/text.ts";

test("any text is read as it was stored, without NUL and the separator; a damaged escape stays as it is", () => {
  const every = String.fromCharCode(...Array.from({ length: 0x80 }, (_, code) => code));
  for (const text of ["", "Hello 💬\n", "\x1a0\0\x1a", `\x1a1${SEPARATOR}`, every]) {
    expect(toText(text)).not.toMatch(new RegExp(`[\\0${SEPARATOR}]`));
    expect(fromText(toText(text))).toBe(text);
  }
  for (const stored of ["a\x1a", "a\x1a9", "\x1a\n"]) expect(fromText(stored)).toBe(stored);
});
