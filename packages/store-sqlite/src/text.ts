import type { SQLOutputValue } from "node:sqlite";

/**
 * Returns the stored form of a text: the text itself, or its bytes if it contains a NUL character. Some supported versions of
 * Node end a text at the first NUL when they read it.
 */
export function toStored(text: string): string | Uint8Array {
  return text.includes("\0") ? Buffer.from(text) : text;
}

/** Returns the text of a stored value; empty if the value is not a text. */
export function fromStored(stored: SQLOutputValue | undefined): string {
  if (typeof stored === "string") return stored;
  return stored instanceof Uint8Array ? Buffer.from(stored).toString() : "";
}
