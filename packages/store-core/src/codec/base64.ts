import { decodeBase64, encodeBase64 } from "#runtime";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The UTF-8 of a text as base64url. */
export function encodeText(text: string, encoding: "base64" | "base64url" = "base64url"): string {
  return encodeBase64(encoder.encode(text), encoding);
}

/** The text of {@link encodeText}, of base64url; undefined for another text. */
export function decodeText(base64url: string): string | undefined {
  const bytes = decodeBase64(base64url, "base64url");
  return bytes && decoder.decode(bytes);
}
