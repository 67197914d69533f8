import { isDeepStrictEqual } from "node:util";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { jsonCodec } from "../src/index.ts";

const roundTrip = (value: unknown) => jsonCodec.decode(jsonCodec.encode(value));
const holes: unknown[] = [];
holes[2] = 1;

describe("C8 the codec preserves", () => {
  test("errors with code and the errors of an AggregateError, without other properties", () => {
    const failed = Object.assign(new Error("refused"), {
      code: "ECONNREFUSED",
      headers: { token: "hunter2" },
    });
    const all = new AggregateError([failed, new Date(0), "text"], "all failed", { cause: { at: 1n } });
    const text = jsonCodec.encode({ all: Object.assign(all, { code: 7, request: () => "hunter2" }) });
    expect(text).not.toContain("hunter2");
    const decoded = (jsonCodec.decode(text) as { all: AggregateError & { code: number } }).all;
    expect(decoded).toBeInstanceOf(AggregateError);
    expect([decoded.name, decoded.message, decoded.cause, decoded.code]).toEqual([
      "AggregateError",
      "all failed",
      { at: 1n },
      7,
    ]);
    const [first, ...others] = decoded.errors;
    expect(others).toStrictEqual([new Date(0), "text"]);
    expect({ ...first }).toStrictEqual({ code: "ECONNREFUSED" });
    expect([first.name, first.message, "cause" in first, "errors" in first]).toEqual([
      "Error",
      "refused",
      false,
      false,
    ]);
    // Encoding the decoded value again gives the same text.
    expect(jsonCodec.encode({ all: decoded })).toBe(text);
    const foreign = runInNewContext('new RangeError("far")');
    expect(roundTrip(foreign)).toMatchObject({ name: "RangeError", message: "far" });
    // A code or list of errors in another format is not encoded.
    const other = Object.assign(new Error("x"), { code: { secret: 1 }, errors: ["hunter2"] });
    expect(jsonCodec.encode(other)).toBe(jsonCodec.encode(new Error("x")));
  });

  test("a Buffer as a Uint8Array, a hole as undefined, a shared object as copies", () => {
    expect(roundTrip(Buffer.from("hi"))).toStrictEqual(Uint8Array.of(104, 105));
    expect(roundTrip(holes)).toStrictEqual([undefined, undefined, 1]);
    const shared = { n: 1n };
    const [a, b] = roundTrip([shared, shared]) as [object, object];
    expect(a).toStrictEqual(b);
    expect(a).not.toBe(b);
  });
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
  test("are decoded correctly, although V8 can misread them", () => {
    // nodejs/node#63785. The codec decodes correctly in Node versions with and without this bug.
    JSON.parse('{"k":1,"a":2}');
    jsonCodec.decode(jsonCodec.encode({ k: 1, a: 2 }));
    expect(roundTrip({ k: 1, "\n": 2 })).toStrictEqual({ k: 1, "\n": 2 });
  });

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
