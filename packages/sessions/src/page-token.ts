import { invalid } from "@scrollback/store-core";
import type { Position } from "./position.ts";

/** A token for what comes behind a position, in one order. */
export function formatToken(order: "desc" | "asc", { time, sessionId, userId }: Position): string {
  return Buffer.from(JSON.stringify([order, time, sessionId, userId])).toString("base64url");
}

/** @throws StoreError `INVALID_ARGUMENT` for a token that no page of this order gave. */
export function parseToken(order: "desc" | "asc", token: string): Position {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    const [of, time, sessionId, userId] = parsed as unknown[];
    if (
      of === order &&
      typeof time === "number" &&
      typeof sessionId === "string" &&
      typeof userId === "string"
    )
      return { time, sessionId, userId };
  } catch {
    // Said below.
  }
  return invalid(`listSessions: pageToken must be the nextPageToken of a page in the order "${order}"`);
}
