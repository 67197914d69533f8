import { encodeBase64 } from "#runtime";
import { encodeText } from "../codec/base64.ts";
import { isArrayBuffer, isUint8Array, isUrl } from "../codec/built-in.ts";
import type { MessageLosses } from "./conversion.ts";
import type { FileContent, Part } from "./message.ts";

/** The content of a file in one of three forms. */
export type FileSource =
  | { readonly type: "url"; readonly url: string }
  /** `data` is base64. */
  | { readonly type: "data"; readonly data: string }
  /** A file that was uploaded to providers: its id by the provider's name. */
  | { readonly type: "reference"; readonly reference: Record<string, string> };

/**
 * The form of a file's content. Bytes and text become base64, and so does a base64 data URL of the same media type.
 *
 * @returns undefined for a value that is not the content of a file.
 */
export function fileSource(content: unknown, mediaType: string): FileSource | undefined {
  if (typeof content === "string")
    return URL.canParse(content) ? urlSource(content, mediaType) : data(content);
  if (isUrl(content)) return urlSource(content.href, mediaType);
  if (isBytes(content)) return data(base64Of(content));
  if (typeof content !== "object" || content === null) return undefined;
  const fields = content as Record<string, unknown>;
  switch (fields.type) {
    case "url":
      return isUrl(fields.url) || isUrlText(fields.url)
        ? urlSource(String(fields.url), mediaType)
        : undefined;
    case "data":
      return isBytes(fields.data) || typeof fields.data === "string"
        ? fileSource(fields.data, mediaType)
        : undefined;
    case "text":
      return typeof fields.text === "string" ? data(encodeText(fields.text, "base64")) : undefined;
    case "reference":
      return referenceSource(fields.reference);
    default:
      return referenceSource(fields);
  }
}

/**
 * Returns the file of a part, for frameworks that keep the id of one provider. Records several ids as changed, and the part's
 * other fields as dropped.
 *
 * @returns undefined for a value that is not the content of a file.
 */
export function fileOfPart(
  part: Extract<Part, { type: "file" | "image" }>,
  path: string,
  losses: MessageLosses,
): PartFile | undefined {
  const { type, data, image, mediaType = "image", filename, ...unread } = part as object as FileFields;
  const [field, content] = type === "image" ? ["image", image] : ["data", data];
  if (typeof mediaType !== "string") return undefined;
  const source = fileSource(content, mediaType);
  if (!source) return undefined;
  losses.unread(path, unread);
  if (source.type === "reference" && Object.keys(source.reference).length > 1)
    losses.changed(`${path}.${field}`);
  return { source, mediaType, filename };
}

/** The file of a part. */
export interface PartFile {
  readonly source: FileSource;
  readonly mediaType: string;
  readonly filename: unknown;
}

interface FileFields {
  readonly type: "file" | "image";
  readonly data?: unknown;
  readonly image?: unknown;
  readonly mediaType?: unknown;
  readonly filename?: unknown;
}

/** The content of a file in the form of a `ChatMessage`. */
export function fileContent(source: FileSource): FileContent {
  if (source.type === "url") return source.url;
  return source.type === "data"
    ? { type: "data", data: source.data }
    : { type: "reference", reference: source.reference };
}

/** A URL of the content; base64 becomes a data URL. Undefined for an uploaded file. */
export function urlOfFile(source: FileSource, mediaType: string): string | undefined {
  if (source.type === "reference") return undefined;
  return source.type === "url" ? source.url : `data:${mediaType};base64,${source.data}`;
}

/** The media type and the base64 of a data URL; undefined for any other text. */
export function parseDataUrl(url: string): { mediaType: string; data: string } | undefined {
  const comma = url.indexOf(",");
  const head = /^data:([^;,]+);base64$/i.exec(comma < 0 ? "" : url.slice(0, comma));
  return head?.[1] === undefined ? undefined : { mediaType: head[1], data: url.slice(comma + 1) };
}

function urlSource(url: string, mediaType: string): FileSource {
  const parsed = parseDataUrl(url);
  return parsed?.mediaType === mediaType ? data(parsed.data) : { type: "url", url };
}

function data(base64: string): FileSource {
  return { type: "data", data: base64 };
}

function referenceSource(reference: unknown): FileSource | undefined {
  if (typeof reference !== "object" || reference === null || Array.isArray(reference)) return undefined;
  const ids = Object.values(reference);
  const isReference = ids.length > 0 && ids.every((id) => typeof id === "string");
  return isReference ? { type: "reference", reference: { ...reference } } : undefined;
}

function isUrlText(value: unknown): value is string {
  return typeof value === "string" && URL.canParse(value);
}

function isBytes(value: unknown): value is Uint8Array | ArrayBuffer {
  return isUint8Array(value) || isArrayBuffer(value);
}

function base64Of(bytes: Uint8Array | ArrayBuffer): string {
  return encodeBase64(isArrayBuffer(bytes) ? new Uint8Array(bytes) : bytes);
}
