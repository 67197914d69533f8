import { checkOptions, invalid, isObject } from "@scrollback/store-core/driver";
import { checkMessages, checkValue, isFunction } from "@scrollback/store-core/internal";
import { checkNewMessages, isMessageId, optionChecks } from "../checks.ts";

/** The kinds of a change, each with its additional fields. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  append: [],
  edit: ["message"],
  dropAnswer: [],
  replace: ["with"],
  nothing: [],
};

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkRunChange(change: unknown, check: (message: unknown) => string | undefined): void {
  checkValue("begin", "the change", isObject, change);
  const [kind = "", ...others] = Object.keys(change as object).filter((key) => key in kinds);
  const beside = kinds[kind];
  if (!beside || others.length > 0)
    invalid(`begin: the change must have one of ${Object.keys(kinds).join(", ")}`);
  checkOptions("begin", change, Object.fromEntries([kind, ...beside].map((name) => [name, () => undefined])));
  const { append, edit, message, dropAnswer, replace, with: replacement } = change as Record<string, unknown>;
  if (kind === "append") checkNewMessages("begin", append, check);
  if (kind === "edit") {
    checkValue("begin", "edit", isMessageId, edit);
    checkMessages("begin", [message], check);
  }
  if (kind === "dropAnswer" && dropAnswer !== undefined)
    checkValue("begin", "dropAnswer", isMessageId, dropAnswer);
  if (kind === "replace") {
    checkValue("begin", "replace", isMessageId, replace);
    checkValue("begin", "with", isFunction, replacement);
  }
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkRunResult(result: unknown, check: (message: unknown) => string | undefined): void {
  checkValue("end", "the result", isObject, result);
  checkOptions("end", result, { ...optionChecks.end, message: check }, ["status"]);
}
