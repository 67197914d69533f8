import { invalid } from "@scrollback/store-core";
import type { Direction, Position } from "./position.ts";

/** A token for the page after a position, in one direction and with one filter. */
export function formatPageToken(direction: Direction, { order, key }: Position, filterName: string): string {
  return Buffer.from(JSON.stringify([direction, order, key, filterName])).toString("base64url");
}

/** @throws StoreError `INVALID_ARGUMENT` for a token of another direction or filter, or one that no page returned. */
export function parsePageToken(direction: Direction, token: string, filterName: string): Position {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    const [of, order, key, filter] = parsed as unknown[];
    const isKey = Array.isArray(key) && key.every((part): part is string => typeof part === "string");
    if (of === direction && filter === filterName && typeof order === "number" && isKey)
      return { order, key };
  } catch {
    // Rejected below.
  }
  return invalid("page: pageToken must be the nextPageToken of a page with the same direction and filter");
}
