import { jsonCodec, StoreError } from "@scrollback/store-core";
import {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isId,
  isObject,
  isOneOf,
  isString,
} from "@scrollback/store-core/driver";
import {
  byteLength,
  checkMessages,
  checkValue,
  isBoolean,
  isCount,
  isFunction,
  isIntegerUpTo,
  isPlainObject,
  isPositiveInteger,
  isSignal,
  isStoreFactory,
  isTimerMs,
} from "@scrollback/store-core/internal";
import type { Identified } from "./chat.ts";

const MAX_MESSAGE_ID_BYTES = 256;
const MAX_TITLE = 512;
const MAX_LABELS_BYTES = 1_024;
const MAX_METADATA_BYTES = 64 * 1_024;
const MAX_INDEXED_LABELS = 8;
const roles: readonly unknown[] = ["system", "user", "assistant", "tool"];

export const isMessageId: Check = (value) => {
  const problem = isId(value);
  if (problem) return problem;
  return byteLength(value as string) > MAX_MESSAGE_ID_BYTES
    ? `must be at most ${MAX_MESSAGE_ID_BYTES} bytes of UTF-8`
    : undefined;
};

const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? undefined : check(value);

const isLabelsWith =
  (isNullAllowed: boolean): Check =>
  (value) => {
    const problem = isPlainObject(value);
    if (problem) return problem;
    const isLabel = (one: unknown) =>
      typeof one === "string" ||
      typeof one === "boolean" ||
      Number.isFinite(one) ||
      (isNullAllowed && one === null);
    return Object.values(value as object).every(isLabel)
      ? undefined
      : "must have strings, finite numbers and booleans as its values";
  };

const signal = { signal: isSignal };
const writeFields = { ...signal, operationId: isId, expectedRevision: isString };
const readFiles = { files: isOneOf("contents", "references") };
const placedFields = { ...writeFields, after: orNull(isMessageId) };
const patchFields = {
  title: orNull(isString),
  titleBy: isOneOf("text", "model", "user"),
  titleOf: messageProblem,
  pinned: isBoolean,
  archived: isBoolean,
  labels: isLabelsWith(true),
  metadata: isPlainObject,
};
const isForkedFrom: Check = (value) => {
  const { chatId, messageId } = Object(value) as { chatId?: unknown; messageId?: unknown };
  const problem = isId(chatId) ?? orNull(isMessageId)(messageId);
  return problem === undefined ? undefined : "must have the ids of a chat, and of a message or null";
};

/** The checks of each method's options. */
export const optionChecks = {
  read: { ...signal, ...readFiles, limit: isCount, before: isString },
  file: { ...signal, start: isCount, end: isCount },
  "with-files": { ...signal, urlsForMs: isPositiveInteger },
  signal,
  message: { ...signal, ...readFiles },
  write: writeFields,
  placed: placedFields,
  dropping: { ...placedFields, keepSibling: isBoolean },
  "delete-message": { ...placedFields, with: isOneOf("answer") },
  list: {
    ...signal,
    limit: isIntegerUpTo(1_000),
    cursor: isString,
    archived: isBoolean,
    pinned: isBoolean,
    labels: isLabelsWith(false),
  },
  create: {
    ...patchFields,
    id: isId,
    messages: (value: unknown) => (Array.isArray(value) ? undefined : "must be an array of messages"),
    forkedFrom: isForkedFrom,
  },
  "create-options": { ...signal, operationId: isId },
  patch: patchFields,
  fork: { ...writeFields, id: isId, title: isString, at: orNull(isMessageId) },
  import: { ...signal, operationId: isId, id: isId },
  begin: {
    ...placedFields,
    runId: isMessageId,
    messageId: isMessageId,
    whileRunning: isOneOf("reject", "stop"),
    create: isObject,
  },
  follow: { ...signal, ...readFiles, everyMs: isTimerMs },
  stop: { runId: isMessageId },
  move: { ...signal, from: isId, to: isId },
  end: {
    status: isOneOf("complete", "stopped", "failed"),
    error: isString,
  },
  upsert: { ...placedFields, status: isOneOf("complete", "partial", "stopped", "failed") },
} satisfies Record<string, Record<string, Check>>;

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkChat(
  method: string,
  chatId: unknown,
  options: unknown,
  kind: keyof typeof optionChecks,
): void {
  checkValue(method, "chatId", isId, chatId);
  checkOptions(method, options, optionChecks[kind]);
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkMove(move: { readonly from: string; readonly to: string }): void {
  checkOptions("move", move, optionChecks.move, ["from", "to"]);
  if (move.from === move.to) invalid("move: to must be another owner than from");
}

/** @throws StoreError `INVALID_ARGUMENT`, also for a value that cannot be stored. */
export function checkMessagePatch(patch: unknown): void {
  checkValue("updateMessage", "the patch", isObject, patch);
  checkOptions("updateMessage", patch, { metadata: () => undefined });
  if ((patch as { metadata?: unknown }).metadata === undefined)
    invalid("updateMessage: metadata must be given; null removes it");
  jsonCodec.encode((patch as { metadata: unknown }).metadata);
}

/** @throws StoreError `INVALID_ARGUMENT`, `TOO_LARGE`. */
export function checkPatch(method: string, patch: unknown, kind: "patch" | "create" = "patch"): void {
  checkValue(method, "the patch", isObject, patch);
  checkOptions(method, patch, optionChecks[kind]);
  const { title, titleBy, titleOf, labels, metadata } = patch as Record<string, unknown>;
  if (titleBy !== undefined && typeof title !== "string") invalid(`${method}: titleBy needs a title`);
  if (titleOf !== undefined && titleBy !== "text" && titleBy !== "model")
    invalid(
      `${method}: titleOf needs the titleBy "text" or "model"; a title of the user is made of no message`,
    );
  if (typeof title === "string" && title.length > MAX_TITLE)
    tooLarge(method, "title", `${MAX_TITLE} characters`);
  if (labels !== undefined || metadata !== undefined) checkSizes(method, labels ?? {}, metadata ?? {});
}

/** @throws StoreError `TOO_LARGE`, and `INVALID_ARGUMENT` for a value that cannot be stored. */
export function checkSizes(method: string, labels: unknown, metadata: unknown): void {
  if (byteLength(jsonCodec.encode(labels)) > MAX_LABELS_BYTES) tooLarge(method, "labels", "1 KiB encoded");
  if (byteLength(jsonCodec.encode(metadata)) > MAX_METADATA_BYTES)
    tooLarge(method, "metadata", "64 KiB encoded");
}

function tooLarge(method: string, name: string, limit: string): never {
  throw new StoreError("TOO_LARGE", `${method}: ${name} may have at most ${limit}`);
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkCut(cut: unknown): void {
  checkValue("truncate", "the cut", isObject, cut);
  checkOptions("truncate", cut, { from: isMessageId, behind: orNull(isMessageId) });
  if (Object.values(cut as object).filter((value) => value !== undefined).length !== 1)
    invalid("truncate: give from or behind");
}

/** The problem with a message, independent of the store's own `check`. */
export function messageProblem(message: unknown): string | undefined {
  const problem = isObject(message);
  if (problem) return problem;
  const { id, role } = message as { id?: unknown; role?: unknown };
  const idProblem = isMessageId(id);
  if (idProblem) return `id ${idProblem}`;
  return roles.includes(role) ? undefined : `role must be "system", "user", "assistant" or "tool"`;
}

/** Checks messages that are added in one call. @throws StoreError `INVALID_ARGUMENT`. */
export function checkNewMessages(
  method: string,
  messages: unknown,
  check: (message: unknown) => string | undefined,
): void {
  checkMessages(method, messages, check);
  const indexes = new Map<string, number>();
  for (const [index, { id }] of (messages as readonly Identified[]).entries()) {
    const before = indexes.get(id);
    if (before !== undefined) invalid(`${method}: messages[${index}] has the id of messages[${before}]`);
    indexes.set(id, index);
  }
}

const isIndexedLabels: Check = (value) =>
  Array.isArray(value) && value.length <= MAX_INDEXED_LABELS && value.every((name) => !isId(name))
    ? undefined
    : `must be an array of at most ${MAX_INDEXED_LABELS} names of labels`;

const isSiblingCount: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 2 ? undefined : "must be an integer of 2 or more";

const isBlobStorage: Check = (value) => {
  const problem = hasMethods("put", "get", "delete")(value);
  if (problem) return problem;
  const { url } = value as { readonly url?: unknown };
  return url === undefined || !isFunction(url) ? undefined : ".url must be a function, or absent";
};

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkStoreOptions(options: unknown): void {
  const checks = {
    stores: isStoreFactory("messages"),
    check: isFunction,
    preview: isFunction,
    closeAnswer: isFunction,
    now: isFunction,
    leaseMs: isTimerMs,
    beatMs: isTimerMs,
    onError: isFunction,
    indexedLabels: isIndexedLabels,
    maxSiblings: isSiblingCount,
    maxSiblingBytes: isPositiveInteger,
    fileBytes: isPositiveInteger,
    blobs: isBlobStorage,
  };
  checkOptions("ChatStore", options, checks, ["stores"]);
  const { leaseMs = 15_000, beatMs = 2_000 } = options as { leaseMs?: number; beatMs?: number };
  if (leaseMs < 3 * beatMs) invalid("ChatStore: leaseMs must be at least 3 times beatMs");
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkRunChange(change: unknown, check: (message: unknown) => string | undefined): void {
  const messages = (value: unknown) => (Array.isArray(value) ? undefined : "must be an array of messages");
  checkValue("begin", "the change", isObject, change);
  checkOptions("begin", change, {
    ...{ keep: isCount, append: messages, continues: isMessageId },
    keepSibling: isBoolean,
  });
  const { append } = change as { append?: unknown };
  if (append !== undefined) checkNewMessages("begin", append, check);
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkRunResult(result: unknown, check: (message: unknown) => string | undefined): void {
  checkValue("end", "the result", isObject, result);
  checkOptions("end", result, { ...optionChecks.end, message: check }, ["status"]);
}
