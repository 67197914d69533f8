import { jsonCodec } from "@scrollback/store-core";

/** A value for a line of JSON. Values that JSON lacks (dates, bytes, maps) become text that only {@link decodeValue} reads. */
export function encodeValue(name: string, value: unknown): Record<string, unknown> {
  const text = encodeText(value);
  return text.startsWith("~") ? { [encodedName(name)]: text } : { [name]: JSON.parse(text) };
}

/** The text of a value: equal for equal values. */
export function encodeText(value: unknown): string {
  return jsonCodec.encode(value);
}

/** The text of a value in a line; undefined if the line has none. @throws Error for a foreign value. */
export function textOfValue(name: string, line: Readonly<Record<string, unknown>>): string | undefined {
  const encoded = line[encodedName(name)];
  const text =
    typeof encoded === "string"
      ? encoded
      : Object.hasOwn(line, name)
        ? JSON.stringify(line[name])
        : undefined;
  if (text !== undefined) decodeValue(text);
  return text;
}

/** Reads the text of a value. */
export function decodeValue(text: string): unknown {
  return jsonCodec.decode(text);
}

/** `message` → `encodedMessage` */
function encodedName(name: string): string {
  return `encoded${name[0]?.toUpperCase()}${name.slice(1)}`;
}
