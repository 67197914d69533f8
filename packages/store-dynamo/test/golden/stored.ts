import type { Item } from "../../src/item.ts";

/** Items in DynamoDB's JSON format: bytes in base64. */
export function stringifyItems(value: unknown): string {
  const bytesToText = (_: string, part: unknown) =>
    part instanceof Uint8Array ? Buffer.from(part).toString("base64") : part;
  return `${JSON.stringify(value, bytesToText, 2)}\n`;
}

export function parseItems(items: unknown): Item[] {
  const textToBytes = (key: string, part: unknown) =>
    key === "B" ? Buffer.from(String(part), "base64") : part;
  return JSON.parse(JSON.stringify(items), textToBytes);
}
