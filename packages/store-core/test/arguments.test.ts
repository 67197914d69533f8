import { expect, test } from "vitest";
import {
  checkOptions,
  checkValue,
  hasMethods,
  isCount,
  isPlainObject,
  isStoreFactory,
  isString,
} from "../src/arguments.ts";
import { createMemoryStores } from "../src/index.ts";

const checks = { name: isString, limit: isCount };
const refusal = (message: string) => expect.objectContaining({ code: "INVALID_ARGUMENT", message });

test.each([
  [undefined, "list: name must be a non-empty string"],
  [{}, "list: name must be a non-empty string"],
  [{ name: undefined }, "list: name must be a non-empty string"],
  [{ limit: -1 }, "list: limit must be an integer of 0 or more"],
  [{ name: "a", size: 1 }, 'list: unknown option "size"; known options are name, limit'],
  [{ name: "a", toString: isString }, 'list: unknown option "toString"; known options are name, limit'],
  [null, "list: options must be an object"],
  [["a"], "list: options must be an object"],
  [Object.create({ name: "a" }), "list: options must be a plain object"],
])("options with a required name: %o is refused", (options, message) => {
  expect(() => checkOptions("list", options, checks, ["name"])).toThrow(refusal(message));
});

test("valid options, absent ones where none is required, and options without a prototype are accepted", () => {
  checkOptions("list", { name: "a", limit: undefined }, checks, ["name"]);
  checkOptions("list", undefined, checks);
  checkOptions("list", Object.assign(Object.create(null), { limit: 0 }), checks);
});

test("a value is refused by the name that the caller gives it", () => {
  checkValue("of", "ownerId", isString, "ada");
  expect(() => checkValue("of", "ownerId", isString, 1)).toThrow(
    refusal("of: ownerId must be a non-empty string"),
  );
  const isOdd = () => "[2].name must be odd";
  expect(() => checkValue("of", "agents", isOdd, 1)).toThrow(refusal("of: agents[2].name must be odd"));
});

test.each([
  [{ open: () => 1 }, undefined],
  [{}, "must have the methods open"],
  [undefined, "must be an object with the methods open"],
])("hasMethods of %o", (value, problem) => {
  expect(hasMethods("open")(value)).toBe(problem);
});

test.each([
  [{}, undefined],
  [Object.create(null), undefined],
  [new Map(), "must be a plain object"],
  [[], "must be an object"],
  [null, "must be an object"],
])("isPlainObject of %o", (value, problem) => {
  expect(isPlainObject(value)).toBe(problem);
});

test("isStoreFactory refuses other values, and one that trims where trimming would delete what is needed", () => {
  const trimming = createMemoryStores({ maxMessages: 2 });
  expect(isStoreFactory()(trimming)).toBeUndefined();
  expect(isStoreFactory("events")(createMemoryStores())).toBeUndefined();
  expect(isStoreFactory("events")(trimming)).toBe(
    "must not have maxMessages, which would delete events; use a factory without it",
  );
  expect(isStoreFactory()(trimming.open())).toBe("must be a store factory");
  expect(isStoreFactory()(undefined)).toBe("must be a store factory");
});
