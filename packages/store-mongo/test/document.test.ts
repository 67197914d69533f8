import type { Head, StoredMessage } from "@scrollback/documents";
import fc from "fast-check";
import { BSON } from "mongodb";
import { describe, expect, test } from "vitest";
import {
  checkFormat,
  type HeadDocument,
  namesIn,
  representation,
  toDocument,
  toHead,
  toPage,
  toPageDocument,
} from "../src/document.ts";

const name = fc.string({
  unit: fc.constantFrom("a", ":", "%", "/", "\0", "$", ".", "é", "😀", "\u{10ffff}", "\ud7ff", "\ue000"),
  minLength: 1,
  maxLength: 255,
});

/** The server's order of strings: by their UTF-8 bytes. */
const order = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

test("the names of a prefix are those that begin with it", () => {
  const isIn = ({ $gte = "", $gt = "", $lt }: ReturnType<typeof namesIn>, one: string) =>
    order($gte, one) <= 0 && order($gt, one) < 0 && order(one, $lt) < 0;
  fc.assert(
    fc.property(fc.oneof(name, fc.constant("")), name, name, (begin, end, other) => {
      for (const one of [other, begin + end]) {
        if (Buffer.byteLength(one) > 1_024) continue;
        expect(isIn(namesIn({ prefix: begin, after: undefined }), one)).toBe(one.startsWith(begin));
        // A page ends with a name that begins with the prefix.
        const isLater = isIn(namesIn({ prefix: begin, after: begin + other }), one);
        expect(isLater).toBe(one.startsWith(begin) && order(one, begin + other) > 0);
      }
    }),
  );
});

const message = (sequence: number): StoredMessage => ({
  ...{ sequence, kind: "sutcbko"[sequence % 7] as StoredMessage["kind"] },
  ...{ createdAt: 1_700_000_000_000 + sequence, text: `{"role":"user","content":"é ${sequence}"}` },
});
const times = { createdAt: 1_700_000_000_000, updatedAt: 1_700_000_000_123 };
const head: Head = {
  ...{ incarnation: "mwzn4cp8x3jrC1I8", n: 2 ** 40, pinned: 1, compaction: null, first: 8, next: 16 },
  ...{
    tail: [10, 11, 12, 13, 14, 15].map(message),
    pins: [message(1)],
    newestCompaction: 0,
    leaving: ["c-0"],
  },
  pages: [
    { id: "a", from: 1, upto: 8, bytes: 900, kinds: "sutcbko", cut: 7 },
    { id: "b", from: 8, upto: 9, bytes: 9, parts: 2 },
  ],
  ...{ metadata: { text: "{}" }, operations: Buffer.alloc(40, 7), former: "0000000000000000" },
  ...{ ...times, expiresAt: times.updatedAt + 1, until: times.updatedAt + 2, isDead: true },
};
const { metadata: _m, former: _f, expiresAt: _e, until: _u, isDead: _d, ...bare } = head;

/** A document as a server returns it. */
const returned = (document: object) => BSON.deserialize(BSON.serialize(document), representation);

describe("a document", () => {
  test.each([
    ["with all fields", head],
    ["without optional fields", bare],
    [
      "with metadata in a page, and no messages",
      { ...bare, metadata: { page: "m" }, tail: [], pages: [], pins: [] },
    ],
  ])("returns its head: %s", (_, one) => {
    expect(toHead(returned(toDocument("a", one)))).toEqual(one);
  });

  test("returns its page", () => {
    for (const page of [
      { id: "p", messages: [message(3), message(4)], until: times.updatedAt },
      { id: "q-0", messages: [] },
    ])
      expect(toPage(returned(toPageDocument("a", page)))).toEqual(page);
  });

  test("stores a time after the last date as the last one", () => {
    expect(toHead(toDocument("a", { ...head, until: 2 ** 54 }))?.until).toBe(8.64e15);
  });

  const damaged: [keyof HeadDocument, unknown][] = [
    ["format", undefined],
    ["revision", "mwzn4cp8x3jrC1I8.0"],
    ["first", 0.5],
    ["next", -1],
    ["pinned", "1"],
    ["messages", { 0: {} }],
    ["messages", [null]],
    ["messages", [{ n: "1" }]],
    ["pins", undefined],
    ["pages", [null]],
    ["pages", [{ id: "a" }]],
    ["leaving", [1]],
    ["isDead", 1],
    ["metadata", {}],
    ["operations", ""],
    ["former", 1],
    ["createdAt", new Date(Number.NaN)],
    ["until", "soon"],
  ];
  test.each(damaged)("with a damaged field is no head: %s %j", (field, value) => {
    expect(toHead({ ...toDocument("a", head), [field]: value })).toBeUndefined();
  });

  test("keeps a message whose text is damaged in its place, in a page also without one whose number is", () => {
    const damaged = [{ n: 3, role: "?", at: 1n, record: 7 }, { n: 4 }];
    const empty = { kind: "", createdAt: Number.NaN, text: "" };
    const expected = [
      { sequence: 3, ...empty },
      { sequence: 4, ...empty },
    ];
    expect(toHead({ ...toDocument("a", head), messages: damaged })?.tail).toEqual(expected);
    expect(toPage({ _id: { page: "p" }, messages: [null, ...damaged] }).messages).toEqual(expected);
  });

  test("of a newer version is refused", () => {
    expect(() => checkFormat({ format: 2 })).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
    for (const format of [1, "2", undefined]) expect(() => checkFormat({ format })).not.toThrow();
  });
});
