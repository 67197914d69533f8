import type { SQLOutputValue } from "node:sqlite";

/**
 * How a text is stored: as it is, or as its bytes where it has a NUL character. Some versions of Node that we support end a
 * text at the first NUL when they read it.
 */
export function toStored(text: string): string | Uint8Array {
  return text.includes("\0") ? Buffer.from(text) : text;
}

/** The text that was stored; empty for a value that is none. */
export function fromStored(stored: SQLOutputValue | undefined): string {
  if (typeof stored === "string") return stored;
  return stored instanceof Uint8Array ? Buffer.from(stored).toString() : "";
}
