import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonElement, jsonElements } from "../src/formats/json-elements.ts";
import { Folder } from "./run.ts";

async function elementsOf(content: string | Buffer): Promise<JsonElement[]> {
  using folder = new Folder();
  const path = folder.file("a.json");
  writeFileSync(path, content);
  const found: JsonElement[] = [];
  for await (const element of jsonElements(path, new AbortController().signal)) found.push(element);
  return found;
}

const textsOf = (content: string, elements: readonly JsonElement[]) =>
  elements.map(({ offset, length }) =>
    Buffer.from(content)
      .subarray(offset, offset + length)
      .toString(),
  );

test("the elements of an array are those that JSON.parse finds", async () => {
  const lists = fc.array(fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }));
  await fc.assert(
    fc.asyncProperty(lists, fc.constantFrom(undefined, 1), async (values, indent) => {
      const content = JSON.stringify(values, null, indent);
      const elements = await elementsOf(content);
      expect(elements.every(({ problem }) => problem === undefined)).toBe(true);
      expect(textsOf(content, elements).map((text) => JSON.parse(text))).toEqual(JSON.parse(content));
    }),
    { numRuns: 100 },
  );
});

test("elements are found across the chunks in which a file is read", async () => {
  const values = Array.from({ length: 500 }, (_, n) => ({ n, text: `"\\]},${"ä".repeat(n)}` }));
  const content = ` \n${JSON.stringify(values)}\n`;
  expect(content.length).toBeGreaterThan(100_000);
  expect(textsOf(content, await elementsOf(content)).map((text) => JSON.parse(text))).toEqual(values);
});

test("a file with one object has one element, also after a byte order mark", async () => {
  const content = '\uFEFF {"a":[1,2]}\n';
  expect(textsOf(content, await elementsOf(content))).toEqual(['{"a":[1,2]}']);
});

test.each([
  ["", 0, "the file is empty"],
  [" \n", 0, "the file is empty"],
  ["PK\u0003\u0004", 0, "this is a ZIP file; unpack it first"],
  ["<html>", 0, "this is not a JSON list or object"],
  ['"a"', 0, "this is not a JSON list or object"],
  ['[{"a":1},{"b":2', 1, "the file ends before its JSON does"],
  ['[{"a":1},{"b":"2}]', 1, "the file ends before its JSON does"],
  ['[{"a":1}', 1, "the file ends before its JSON does"],
  ['[{"a":1} ,', 1, "the file ends before its JSON does"],
  ['[{"a":1}]]', 1, "there is more text after the end of the JSON"],
  ['{"a":1}{"b":2}', 1, "there is more text after the end of the JSON"],
  ['[{"a":1},2}', 1, "the brackets do not match"],
])("after the good elements of %j its problem is named", async (content, good, problem) => {
  const elements = await elementsOf(content);
  expect(elements.slice(0, good).every((one) => one.problem === undefined)).toBe(true);
  expect(elements.slice(good)).toMatchObject([{ problem }]);
});

test("an element of more than 64 MiB, or of more than 10,000 levels, has a problem and the next one has none", async () => {
  const large = Buffer.concat([
    Buffer.from('[{"a":"'),
    Buffer.alloc(64 * 2 ** 20, "x"),
    Buffer.from('"},{}]'),
  ]);
  expect(await elementsOf(large)).toMatchObject([{ problem: "it is larger than 64 MiB" }, { length: 2 }]);
  const deep = `[${"[".repeat(10_001)}${"]".repeat(10_001)},{}]`;
  const [first, second] = await elementsOf(deep);
  expect(first?.problem).toBe("it is nested more than 10000 levels deep");
  expect(second).toEqual({ offset: deep.length - 3, length: 2 });
});
