import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { jsonCodec } from "../src/index.ts";

const roundTrip = (value: unknown) => jsonCodec.decode(jsonCodec.encode(value));

test("C8 a code or a list of errors in another form than those of Node.js is not stored with an error", () => {
  const failed = Object.assign(new Error("x"), { code: { secret: 1 }, errors: ["hunter2"] });
  expect(jsonCodec.encode(failed)).toBe(jsonCodec.encode(new Error("x")));
  const numbered = Object.assign(new AggregateError([new Date(0), "text"], "all"), { code: 7 });
  expect(roundTrip(numbered)).toMatchObject({ code: 7, errors: [new Date(0), "text"] });
});

describe("C8 a property whose value is undefined", () => {
  const message = {
    role: "assistant",
    content: [
      { type: "text", text: "Hi", providerOptions: undefined },
      {
        type: "tool-call",
        toolCallId: "1",
        toolName: "t",
        input: {},
        providerExecuted: undefined,
        n: undefined,
      },
    ],
    id: undefined,
  };

  test("is listed beside the others, in plain JSON", () => {
    const text = jsonCodec.encode(message);
    expect(text).toBe(
      '{"role":"assistant","content":[' +
        '{"type":"text","text":"Hi","providerOptions":null,"~undefined":["providerOptions"]},' +
        '{"type":"tool-call","toolCallId":"1","toolName":"t","input":{},"providerExecuted":null,"n":null,' +
        '"~undefined":["providerExecuted","n"]}' +
        '],"id":null,"~undefined":["id"]}',
    );
    expect(jsonCodec.decode(text)).toStrictEqual(message);
    expect(message).toHaveProperty("id");
    const absentFirst = { id: undefined, role: "user", content: null };
    expect(Object.keys(roundTrip(absentFirst) as object)).toEqual(["id", "role", "content"]);
  });

  test.each<[string, unknown]>([
    ["in a list", [[{ a: undefined }], { b: [{ c: undefined }] }]],
    ["beside what JSON lacks", { a: undefined, b: new Date(0), c: { d: undefined } }],
    ["as an element of a list", { a: [undefined, { b: undefined }] }],
    [
      "under a difficult key",
      Object.fromEntries([
        ["__proto__", undefined],
        ["\n", undefined],
        ["a.b", undefined],
      ]),
    ],
    ["beside __proto__", JSON.parse('{"__proto__":{"x":1},"a":{"__proto__":{"y":[]}}}')],
    ["within __proto__", Object.fromEntries([["__proto__", { a: undefined }]])],
    ["beside a key of the list's name", { "~undefined": ["a"], b: undefined, c: { "~undefined": [] } }],
    ["beside text of the list's name", { "~undefined ": '"~undefined":["a"]', b: '{"~undefined":["c"]}' }],
  ])("is decoded %s", (_, value) => {
    const decoded = roundTrip(value);
    expect(isDeepStrictEqual(decoded, value)).toBe(true);
    expect(jsonCodec.encode(decoded)).toBe(jsonCodec.encode(value));
  });

  test.each([
    '{"~undefined":1}',
    '{"~undefined":[1]}',
    '{"a":1,"~undefined":["a"]}',
    '{"~undefined":{"length":1e9}}',
  ])("is not read from %s", (text) => {
    expect(() => jsonCodec.decode(text)).toThrow(TypeError);
  });

  test("pollutes no prototype", () => {
    expect(() => jsonCodec.decode('{"a":{"~undefined":["__proto__"]}}')).toThrow(TypeError);
    expect(() => jsonCodec.decode('{"a":{"~undefined":["toString"]}}')).toThrow(TypeError);
    expect({}.toString).toBeTypeOf("function");
  });
});

describe("keys that JSON escapes", () => {
  test("are never written by the codec", () => {
    const key = fc.oneof(
      fc.string({ unit: "binary", maxLength: 3 }),
      fc.constantFrom("a.b", "\\", '"', "\u0000", "\ud800"),
    );
    const value = fc.dictionary(key, fc.constantFrom<unknown>(1, undefined, 1n, new Date(0)));
    fc.assert(
      fc.property(fc.oneof(value, fc.dictionary(key, value)), (object) => {
        const text = jsonCodec.encode(object);
        // A colon outside of strings follows each key.
        for (const [whole, inside] of text.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g)) {
          if (whole.endsWith(":")) expect(inside).not.toContain("\\");
        }
      }),
      { numRuns: rounds(500, 2_000) },
    );
  });
});

test("decoding modified text neither pollutes prototypes nor crashes", () => {
  const attacks = [
    '~{"json":{"a":1},"meta":{"values":{"__proto__.x":["Date"]},"v":1}}',
    '~{"json":[["__proto__",{"polluted":1}]],"meta":{"values":[["custom","entries"]],"v":1}}',
    '~{"json":["Nope","AAAA"],"meta":{"values":[["custom","bytes"]],"v":1}}',
    '~{"json":1,"meta":{"values":[["class","Nope"]],"v":1}}',
    "~",
    "~null",
    "{",
  ];
  for (const text of attacks) {
    try {
      jsonCodec.decode(text);
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
  }
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

test("C16 a forged text is refused, or read as a value that could have been stored", () => {
  const text = fc.constantFrom(
    "",
    "a",
    "/a/g",
    "2020",
    "https://a.b",
    "0x1",
    "AAAA",
    "Uint8Array",
    "TypeError",
  );
  const key = fc.constantFrom(
    "a",
    "0",
    "1",
    "name",
    "message",
    "cause",
    "code",
    "errors",
    "length",
    "__proto__",
  );
  const type = fc.constantFrom<unknown>(
    ...["undefined", "bigint", "number", "Date", "map", "set", "URL", "regexp", "custom error", "other", 1],
    ...["entries", "invalid-date", "bytes", "error"].map((name) => ["custom", name]),
  );
  const path = fc.array(key, { minLength: 1, maxLength: 3 }).map((keys) => keys.join("."));
  const { json, values } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(text, fc.constantFrom(null, true, 0, 1.5)),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(key, tie("json"), { maxKeys: 3 }),
    ),
    node: fc.oneof({ maxDepth: 2 }, fc.tuple(type), fc.tuple(type, tie("nodes"))),
    nodes: fc.dictionary(path, tie("node"), { minKeys: 1, maxKeys: 2 }),
    values: fc.oneof(tie("node"), tie("nodes")),
  }));
  let read = 0;
  fc.assert(
    fc.property(json, values, (json, values) => {
      let value: unknown;
      try {
        value = jsonCodec.decode(`~${JSON.stringify({ json, meta: { values, v: 1 } })}`);
      } catch {
        return;
      }
      read += 1;
      jsonCodec.decode(jsonCodec.encode(value));
    }),
    { numRuns: rounds(20_000, 500_000) },
  );
  expect(read).toBeGreaterThan(100);
});
