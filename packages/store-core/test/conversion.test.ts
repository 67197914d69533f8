import { expect, test } from "vitest";
import {
  checkMessages,
  fileContent,
  fileSource,
  MessageLosses,
  parseDataUrl,
  plainJson,
  textOfToolOutput,
  toolOutput,
  urlOfFile,
} from "../src/internal.ts";

test("losses: the loss of a value replaces those inside it; a message that is not converted is one loss", () => {
  const losses = new MessageLosses(2);
  losses.unread("content[0]", { a: 1, b: undefined, "odd key": null });
  losses.changed("content[01]");
  expect(losses.found(true).map(({ path }) => path)).toEqual([
    "content[0].a",
    'content[0]["odd key"]',
    "content[01]",
  ]);
  losses.dropped("content[0]");
  expect(losses.found(true)).toEqual([
    { index: 2, path: "content[01]", effect: "changed" },
    { index: 2, path: "content[0]", effect: "dropped" },
  ]);
  expect(losses.found(false)).toEqual([{ index: 2, path: "", effect: "dropped" }]);
});

test("values that are not an array of messages fail with INVALID_ARGUMENT and the index", () => {
  expect(() => checkMessages("convert", new Array(1))).toThrow(
    "convert: messages[0]: must be an object with a role and content",
  );
  expect(() => checkMessages("convert", "hi")).toThrow("convert: messages must be an array");
  checkMessages("convert", [{ role: "user", content: [{ type: "later" }] }]);
});

test("plain JSON: values that JSON supports are unchanged, and others are reported", () => {
  const same = { a: [1, "x", null, { b: true, c: undefined }], ["__proto__"]: 1 };
  expect(plainJson(same)).toEqual({
    value: { a: [1, "x", null, { b: true }], ["__proto__"]: 1 },
    isChanged: false,
  });
  const cycle: unknown[] = [];
  cycle.push(cycle);
  let deep: unknown = 1;
  for (let depth = 0; depth < 20_000; depth++) deep = [deep];
  for (const [value, json] of [
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [new Date(Number.NaN), null],
    [10n, "10"],
    [Number.NaN, null],
    [-0, 0],
    [undefined, null],
    [[undefined], [null]],
    [new Map(), null],
    [new Uint8Array(2), null],
    [() => 1, null],
    [cycle, [null]],
  ] as const)
    expect(plainJson(value)).toEqual({ value: json, isChanged: true });
  expect(plainJson(deep).isChanged).toBe(true);
});

test("files: every form of content is converted, and other values are not", () => {
  const png = "image/png";
  for (const content of [
    new Uint8Array([0, 0, 0]),
    new ArrayBuffer(3),
    "AAAA",
    "data:image/png;base64,AAAA",
    { type: "data", data: "AAAA" },
    { type: "data", data: new Uint8Array(3) },
    { type: "url", url: new URL("data:image/png;base64,AAAA") },
    { type: "text", text: "\0\0\0" },
  ])
    expect(fileSource(content, png)).toEqual({ type: "data", data: "AAAA" });
  for (const content of [
    "https://a.test/b",
    new URL("https://a.test/b"),
    { type: "url", url: "https://a.test/b" },
  ])
    expect(fileSource(content, png)).toEqual({ type: "url", url: "https://a.test/b" });
  const gif = "data:image/gif;base64,AAAA";
  expect(fileSource(gif, png)).toEqual({ type: "url", url: gif });
  const reference = { openai: "f" };
  for (const content of [reference, { type: "reference", reference }])
    expect(fileSource(content, png)).toEqual({ type: "reference", reference });
  for (const content of [
    5,
    null,
    [],
    {},
    { type: "url", url: "no" },
    { type: "data" },
    { type: "reference", reference: { a: 1 } },
  ])
    expect(fileSource(content, png)).toBe(undefined);
  expect(parseDataUrl("data:text/plain,hi")).toBe(undefined);
  expect(urlOfFile({ type: "data", data: "AAAA" }, png)).toBe("data:image/png;base64,AAAA");
  expect(urlOfFile({ type: "reference", reference }, png)).toBe(undefined);
  expect(fileContent({ type: "url", url: "https://a.test/b" })).toBe("https://a.test/b");
});

test("outputs of tools: the AI SDK's forms, plain values, and errors", () => {
  const formOf = (output: unknown, isError?: boolean) => toolOutput({ output, isError }).output;
  expect(formOf("8")).toEqual({ type: "text", value: "8" });
  expect(formOf({ type: "text", value: 8 })).toEqual({ type: "json", value: { type: "text", value: 8 } });
  expect(formOf({ type: "text", value: "8", more: 1 })).toMatchObject({ type: "json" });
  expect(formOf({ type: "toString" })).toMatchObject({ type: "json" });
  expect(formOf({ tram: 8 }, true)).toEqual({ type: "error-json", value: { tram: 8 } });
  expect(formOf({ type: "json", value: 8 }, true)).toEqual({ type: "error-json", value: 8 });
  expect(toolOutput({ output: { type: "content", value: [] }, isError: true }).keepsError).toBe(false);
  expect(toolOutput({ output: { type: "error-text", value: "" }, isError: true }).keepsError).toBe(true);
  expect(textOfToolOutput({ type: "error-json", value: { a: 1n } })).toEqual({
    ...{ text: '{"a":"1"}', isError: true, isChanged: true },
  });
  expect(textOfToolOutput({ type: "execution-denied" })).toMatchObject({
    text: "Tool call execution denied.",
  });
});
