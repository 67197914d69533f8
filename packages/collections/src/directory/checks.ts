import {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isBoolean,
  isCount,
  isFunction,
  isId,
  isOneOf,
  isPositiveInteger,
  isSignal,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { parsePageToken } from "./page-token.ts";
import type { Direction, Key, Position } from "./position.ts";

const MAX_KEY_BYTES = 1_024;
const MAX_INCARNATION_BYTES = 64;
/** 256 values with their keys fit one message on every backend. */
const MAX_VALUE_BYTES = 8_192;
const MAX_PAGE = 1_000;

const isOrder: Check = (value) =>
  typeof value === "number" && Number.isFinite(value) ? undefined : "must be a finite number";

/** @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores with `maxMessages`. */
export function checkDirectories(options: unknown): void {
  checkOptions("MarkedDirectories", options ?? null, {
    stores: hasMethods("withTraits"),
    leafThread: isFunction,
    holdMs: isCount,
    clock: hasMethods("wall", "monotonic", "timer", "random"),
    onError: isFunction,
  });
  const { stores, leafThread } = options as { stores?: unknown; leafThread?: unknown };
  checkStores("MarkedDirectories", stores);
  if (leafThread === undefined) invalid("MarkedDirectories: leafThread must be a function");
}

/** @throws StoreError `INVALID_ARGUMENT` for anything but a store factory, and for one with `maxMessages`. */
export function checkStores(owner: string, stores: unknown): void {
  const problem = hasMethods("withTraits")(stores);
  if (problem) invalid(`${owner}: stores must be a store factory`);
  const { settings } = stores as { settings?: { maxMessages?: number } };
  if (settings?.maxMessages !== undefined)
    invalid(
      `${owner}: stores must not have maxMessages, which would delete entries; use a factory without it`,
    );
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkThread(method: string, threadId: unknown): void {
  const problem = isId(threadId);
  if (problem) invalid(`${method}: threadId ${problem}`);
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkKey(method: string, key: unknown): asserts key is Key {
  if (!Array.isArray(key) || key.length === 0)
    invalid(`${method}: key must be an array of at least one string`);
  let bytes = 0;
  for (const part of key) {
    const problem = isId(part);
    if (problem) invalid(`${method}: each part of key ${problem}`);
    bytes += Buffer.byteLength(part);
  }
  if (bytes > MAX_KEY_BYTES) invalid(`${method}: key must be at most ${MAX_KEY_BYTES} bytes of UTF-8`);
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkMember(
  method: string,
  threadId: unknown,
  { key, incarnation, order }: { key: unknown; incarnation: unknown; order?: unknown },
): void {
  checkThread(method, threadId);
  checkKey(method, key);
  const problem = isId(incarnation);
  if (problem) invalid(`${method}: incarnation ${problem}`);
  if (Buffer.byteLength(incarnation as string) > MAX_INCARNATION_BYTES)
    invalid(`${method}: incarnation must be at most ${MAX_INCARNATION_BYTES} bytes of UTF-8`);
  const orderProblem = order === undefined ? undefined : isOrder(order);
  if (orderProblem) invalid(`${method}: order ${orderProblem}`);
}

/** @throws StoreError `INVALID_ARGUMENT`; `TOO_LARGE` for a value larger than 8 KiB encoded. */
export function checkWritten(
  method: string,
  stores: Pick<StoreFactory, "metadataSize">,
  written: { order: unknown; version: unknown; value: unknown; expiresAt?: unknown; was?: unknown },
): void {
  const { order, version, value, expiresAt, was } = written;
  const checks = {
    order,
    ...(expiresAt !== undefined && { expiresAt }),
    ...((was ?? null) !== null && { was }),
  };
  for (const [name, one] of Object.entries(checks)) {
    const problem = isOrder(one);
    if (problem) invalid(`${method}: ${name} ${problem}`);
  }
  const problem = isCount(version);
  if (problem) invalid(`${method}: version ${problem}`);
  const size = stores.metadataSize(value);
  if (size > MAX_VALUE_BYTES)
    throw new StoreError(
      "TOO_LARGE",
      `${method}: value has ${size} bytes encoded; the limit is ${MAX_VALUE_BYTES}`,
    );
}

/** @returns the position after which the page starts. @throws StoreError `INVALID_ARGUMENT`. */
export function checkPage(
  threadId: unknown,
  request: { direction?: Direction; pageToken?: string | undefined; filterName?: string },
): Position | undefined {
  checkThread("page", threadId);
  checkOptions("page", request ?? null, {
    direction: isOneOf("desc", "asc"),
    limit: (value) =>
      isPositiveInteger(value) ?? (Number(value) > MAX_PAGE ? `must be at most ${MAX_PAGE}` : undefined),
    pageToken: (value) => (typeof value === "string" ? undefined : "must be a nextPageToken"),
    filterName: (value) => (typeof value === "string" ? undefined : "must be a string"),
    filter: isFunction,
    includesExpired: isBoolean,
    read: isFunction,
    signal: isSignal,
  });
  const { direction = "desc", pageToken, filterName = "" } = request;
  const { limit, read } = request as { limit?: unknown; read?: unknown };
  if (limit === undefined) invalid("page: limit is missing");
  if (read === undefined) invalid("page: read must be a function");
  return pageToken === undefined ? undefined : parsePageToken(direction, pageToken, filterName);
}
