/**
 * Decodes base64 of a stored record. Node.js also decodes a text with other characters, more padding or bits that belong to no byte, and
 * ignores them.
 *
 * @returns undefined for a text that is not exactly what `toString("base64")` writes for its bytes.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
