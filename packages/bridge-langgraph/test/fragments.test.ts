import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { type Fragment, fragmentsOf, type Source, SourceIndex } from "../src/log/delta.ts";
import type { CheckpointMessage, LogMessage, SharedValue } from "../src/log/log-message.ts";
import { LogWindow } from "../src/log/log-window.ts";
import { SharedValues } from "../src/log/shared-values.ts";
import type { TypedValue } from "../src/log/typed-value.ts";

/** Words that make matches, with quotes and braces, where these are looked for, and halves of surrogate pairs. */
const word = fc.constantFrom(
  '"',
  "{",
  '{"kwargs":{"content":"',
  '"},"type":"human"}',
  "x".repeat(45),
  "y",
  "😀",
  "😁",
  // Ends with the same half as the first one.
  "\u{1f200}",
  "\ud83d",
  "\ude00",
  "a sentence that is longer than one probe is",
);
const text = fc.array(word, { maxLength: 30 }).map((words) => words.join(""));
/** Often the base with an edit. */
const edited = fc
  .tuple(text, text, fc.nat(1_200), fc.nat(80))
  .map(([base, added, at, drop]) => [base, base.slice(0, at) + added + base.slice(at + drop)] as const);
const pair = fc.oneof(
  edited,
  fc.tuple(text, text),
  text.map((one) => [one, one] as const),
);

const source = (position: number, of: string, start = 0): Source => ({
  ...{ position, name: 0, start, text: of, from: position },
});
const join = (fragments: readonly Fragment[]): string =>
  fragments
    .map((one) => (typeof one === "string" ? one : one.source.text.slice(one.start, one.end)))
    .join("");

test("fragments join to the target, none is empty, and none ends within a surrogate pair", () => {
  fc.assert(
    fc.property(pair, fc.array(text, { maxLength: 3 }), fc.boolean(), ([base, target], others, hasBase) => {
      // The base of a long middle is a source of its own, with an offset that the writer adds.
      const before = hasBase ? source(0, base) : undefined;
      const fragments = fragmentsOf(
        target,
        before,
        new SourceIndex(others.map((one, index) => source(index + 1, one))),
      );
      expect(join(fragments)).toBe(target);
      for (const one of fragments) if (typeof one !== "string") expect(one.end).toBeGreaterThan(one.start);
      let at = 0;
      for (const one of fragments) {
        if (typeof one === "string") expect(one).not.toBe("");
        at += typeof one === "string" ? one.length : one.end - one.start;
        expect((target.codePointAt(at - 1) ?? 0) > 0xff_ff && at < target.length, `cut at ${at}`).toBe(false);
      }
    }),
    { numRuns: rounds(2_000, 50_000) },
  );
});

test("a common end does not begin with the second half of another character", () => {
  const end = "z".repeat(60);
  // Both characters end with the same half.
  const target = `B\u{1f200}${end}`;
  expect(fragmentsOf(target, source(0, `A😀${end}`), new SourceIndex([]))).toMatchObject([
    "B\u{1f200}",
    { start: 3, end: 63 },
  ]);
});

const checkpoint = (position: number, value: CheckpointMessage["values"][number][1]): CheckpointMessage => ({
  ...{ kind: "checkpoint", id: String(position), values: [["c", value]] },
  header: { type: "json", data: "" },
  metadata: { type: "json", data: "" },
});

/** Stores values one after the other, each against the one before, or against a random earlier one. */
function storedLog(values: readonly (readonly [value: TypedValue, back: number])[]) {
  const messages: LogMessage[] = [];
  const positions: number[] = [];
  for (const [index, [value]] of values.entries()) {
    const place = index - 1 - ((values[index]?.[1] ?? 0) % Math.max(index, 1));
    const at = positions[place];
    const earlier = at === undefined ? undefined : messages[at];
    const before = values[place]?.[0];
    const shared = new SharedValues(messages.length, []);
    const stored = earlier?.kind === "checkpoint" ? earlier.values[0]?.[1] : undefined;
    const base =
      at !== undefined && before && stored
        ? { position: at, name: "c", value: before, from: "from" in stored ? stored.from : at }
        : undefined;
    const form = shared.store(value, base);
    messages.push(...shared.parts);
    positions.push(messages.length);
    messages.push(checkpoint(messages.length, form));
  }
  return { messages, positions };
}

/** A fresh window from the position that the stored form names has each value. */
function expectReadable(values: readonly (readonly [value: TypedValue, back: number])[]): void {
  const { messages, positions } = storedLog(values);
  for (const [index, [value]] of values.entries()) {
    const position = positions[index] ?? -1;
    const from = new LogWindow(0, messages).beginOf(position, "c");
    const window = new LogWindow(from, messages.slice(from, position + 1));
    const read = window.value(position, "c");
    expect(read.type).toBe(value.type);
    // Not toEqual: the difference of long texts takes long to print.
    const isEqual =
      typeof read.data === "string" || typeof value.data === "string"
        ? read.data === value.data
        : Buffer.compare(read.data, value.data) === 0;
    expect(isEqual, `value ${index} of ${values.length}`).toBe(true);
  }
}

test("values of any texts and bytes are read from the messages that their form names", () => {
  const data = fc.oneof(
    { weight: 5, arbitrary: edited.map(([, one]) => one) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 400 }) },
    { weight: 1, arbitrary: fc.constantFrom("", "😀".repeat(400), new Uint8Array(300)) },
  );
  const value = fc.tuple(
    data.map((one): TypedValue => ({ type: typeof one === "string" ? "json" : "bytes", data: one })),
    fc.nat(3),
  );
  const list = fc.array(value, { maxLength: 12 });
  fc.assert(fc.property(list, expectReadable), { numRuns: rounds(400, 10_000) });
});

test("a text that grows and is edited, hundreds of times, is read from any position", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(20_000), fc.nat(30), word), { minLength: 300, maxLength: 300 }),
      (edits) => {
        let current = '{"content":"😀😁"}'.repeat(200);
        const values = edits.map(([at, drop, added]) => {
          const start = at % (current.length + 1);
          current = current.slice(0, start) + added + current.slice(start + drop);
          return [{ type: "json", data: current }, 0] as const;
        });
        expectReadable(values);
      },
    ),
    { numRuns: rounds(3, 60) },
  );
});

test("a stretch of a literal is read without what the rest of its value needs", () => {
  const shared = (pieces: SharedValue["pieces"], from: number) =>
    checkpoint(from, { type: "json", pieces, from });
  const messages = [
    checkpoint(0, { type: "json", data: "0123456789" }),
    shared(["first ", [0, "c", 2, 5], "second", [0, "c", 0, 9]], 0),
    shared([[1, "c", 11, 14], "!", [1, "c", 1, 4]], 1),
  ];
  expect(new LogWindow(1, messages.slice(1)).value(2, "c").data).toBe("con!irs");
  expect(new LogWindow(0, messages).value(1, "c").data).toBe("first 234second012345678");
  const [whole, first] = messages;
  const past = shared([[1, "c", 20, 25]], 0);
  for (const broken of [[past], [whole, whole, past], [whole, first, past]])
    expect(() => new LogWindow(3 - broken.length, broken as LogMessage[]).value(2, "c")).toThrow(
      expect.objectContaining({ code: "CORRUPT" }),
    );
});

test("texts and bytes of several parts are read, also after an edit within a part", () => {
  const long = '😀"x{'.repeat(600_000);
  const bytes = new Uint8Array(5 * 1_024 ** 2).fill(7);
  expectReadable([
    [{ type: "json", data: long }, 0],
    [{ type: "json", data: `${long.slice(0, 1_048_577)}edited${long.slice(1_048_590)}` }, 0],
    [{ type: "json", data: `${long}😀${long}` }, 0],
    [{ type: "bytes", data: bytes }, 0],
    [{ type: "bytes", data: bytes }, 0],
    [{ type: "json", data: "" }, 0],
  ]);
});
