import { decodeBase64, encodeBase64 } from "@scrollback/store-core/internal";

/** A content that is stored apart from its message, which has {@link placeOf} in its place. */
export interface StoredFile {
  /** The name of the content's base64, see `nameOfText`. */
  readonly digest: string;
  /** The use of the content by the message, see `BlobUse`. Absent until it is stored. */
  readonly use?: string;
}

/** Loads the content of a file; undefined if there is none. */
export type LoadContent = () => Promise<Uint8Array | undefined>;

/** What the content was: a data URL, of which this is all before the base64; base64 alone (`""`); or bytes. */
type Form = string | typeof BYTES;

const BYTES = "bytes";
const MAX_DEPTH = 1_000;
const DATA_URL = /^data:[^,]{0,255};base64,/i;
const PLACE = /^scrollback-file:([\w-]{43}):(bytes|data:[^,]{0,255};base64,|)$/i;
/** The fields whose text is base64, in parts of the AI SDK, of `ChatMessage`, and of tool outputs. */
const BASE64_FIELDS: readonly string[] = ["data", "image"];

/** A text for the place of a content. Whoever reads a message may put the content, or another text, in its place. */
function placeOf(digest: string, form: Form): string {
  return `scrollback-file:${digest}:${form}`;
}

/**
 * The text that a message has in the place of a file, as the URL of its data: see {@link ChatEntry.files}.
 *
 * @param fileId that of a file which a chat of the owner has. With any other one the text stays a text.
 */
export function fileReference(fileId: string, mediaType: string): string {
  return placeOf(fileId, `data:${mediaType};base64,`);
}

/** What a text says that a message has in the place of a file; undefined for any other value. `mediaType`: only of a data URL. */
export function parseFileReference(
  value: unknown,
): { readonly fileId: string; readonly mediaType?: string } | undefined {
  const [, fileId, form = ""] = (typeof value === "string" && PLACE.exec(value)) || [];
  const mediaType = form.startsWith("data:") ? form.slice("data:".length, -";base64,".length) : undefined;
  return fileId === undefined ? undefined : { fileId, ...(mediaType !== undefined && { mediaType }) };
}

/** The ids of the files that a value has references to, at any depth, with the media types of those in the form of data URLs. */
export function filesIn(value: unknown): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>();
  mapLeaves(value, (leaf) => {
    const reference = parseFileReference(leaf instanceof URL ? leaf.href : leaf);
    if (reference) found.set(reference.fileId, found.get(reference.fileId) ?? reference.mediaType);
    return leaf;
  });
  return found;
}

/** The files of messages that are not stored yet, and how to load their contents. */
const extracted = new WeakMap<object, readonly StoredFile[]>();
const loads = new WeakMap<StoredFile, LoadContent>();

/** The files of a message that {@link extractFiles} returned, undefined for any other message. */
export function filesOf(message: object): readonly StoredFile[] | undefined {
  return extracted.get(message);
}

/** How to load the content of a file that has no use yet. */
export function loaderOf(file: StoredFile): LoadContent | undefined {
  return loads.get(file);
}

/** The files of a message, for a copy of it that uses them too. */
export function copiesOf(
  files: readonly StoredFile[],
  load: (digest: string) => Promise<Uint8Array | undefined>,
) {
  return files.map(({ digest }) => {
    const copy: StoredFile = { digest };
    loads.set(copy, () => load(digest));
    return copy;
  });
}

/**
 * A message with {@link placeOf} in the place of each content of at least `fromBytes`: data URLs, base64 of file parts, and bytes.
 *
 * @param nameOf the id of a content.
 * @param load loads a content that the message has only the place of.
 */
export function extractFiles<M extends object>(
  message: M,
  fromBytes: number,
  nameOf: (base64: string) => string,
  load: (digest: string) => Promise<Uint8Array | undefined>,
): M {
  if (extracted.has(message)) return message;
  const found = new Map<string, StoredFile>();
  const add = (digest: string, loadContent: LoadContent) => {
    const file = found.get(digest) ?? { digest };
    if (!loads.has(file)) loads.set(file, loadContent);
    found.set(digest, file);
  };
  const place = (base64: string, form: Form, bytes: Uint8Array) => {
    const digest = nameOf(base64);
    add(digest, async () => bytes);
    return placeOf(digest, form);
  };
  const stored = mapLeaves(message, (value, field, isPart) => {
    if (typeof value === "string") {
      const [, known] = PLACE.exec(value) ?? [];
      if (known !== undefined) add(known, () => load(known));
      if (value.length < fromBytes) return value;
      const form =
        DATA_URL.exec(value.slice(0, 300))?.[0] ?? (isPart && BASE64_FIELDS.includes(field) ? "" : undefined);
      const base64 = form === undefined ? "" : value.slice(form.length);
      if (form === undefined || (base64.length * 3) / 4 < fromBytes) return value;
      const bytes = decodeBase64(base64);
      return bytes ? place(base64, form, bytes) : value;
    }
    const isBytes = value instanceof Uint8Array && Object.getPrototypeOf(value) === Uint8Array.prototype;
    return isBytes && value.length >= fromBytes ? place(encodeBase64(value), BYTES, value) : value;
  }) as M;
  extracted.set(stored, [...found.values()]);
  return stored;
}

/**
 * A value with contents in the place of their references, at any depth.
 *
 * @param contents by the id of the file; the others stay.
 * @param urls of files, in the place of data URLs.
 */
export function putFiles<M>(
  message: M,
  contents: ReadonlyMap<string, Uint8Array>,
  urls: ReadonlyMap<string, string> = new Map(),
): M {
  return replaceFiles(message, (digest, form) => {
    const url = form.startsWith("data:") ? urls.get(digest) : undefined;
    const content = contents.get(digest);
    if (url !== undefined || !content) return url;
    return form === BYTES ? content : form + encodeBase64(content);
  });
}

/** Puts values in the places of contents. Where `value` returns undefined, the place stays. */
function replaceFiles<M>(message: M, value: (digest: string, form: string) => unknown): M {
  return mapLeaves(message, (leaf) => {
    const text = leaf instanceof URL ? leaf.href : leaf;
    if (typeof text !== "string") return leaf;
    const [, digest, form] = PLACE.exec(text) ?? [];
    if (digest === undefined || form === undefined) return leaf;
    const put = value(digest, form) ?? leaf;
    return leaf instanceof URL && typeof put === "string" ? new URL(put) : put;
  }) as M;
}

/**
 * The same value, with other leaves: what has none that changed is the same object.
 *
 * @param map gets a leaf, the name of its field, and whether the object with the field has a `type`.
 */
function mapLeaves(
  value: unknown,
  map: (leaf: unknown, field: string, isPart: boolean) => unknown,
  { field = "", isPart = false, depth = 0, seen = new Map<unknown, unknown>() } = {},
): unknown {
  const isList = Array.isArray(value);
  if (!isList && !isPlain(value)) return map(value, field, isPart);
  // A cycle, and what is nested too deep, is for the codec to refuse.
  if (seen.has(value) || depth > MAX_DEPTH) return seen.get(value) ?? value;
  seen.set(value, value);
  const isTyped = !isList && typeof value.type === "string";
  const next = (one: unknown, name: string) =>
    mapLeaves(one, map, { field: name, isPart: isTyped, depth: depth + 1, seen });
  if (isList) {
    const mapped = value.map((one) => next(one, field));
    if (mapped.some((one, index) => one !== value[index])) seen.set(value, mapped);
    return seen.get(value);
  }
  const mapped = Object.entries(value).map(([name, one]) => [name, next(one, name)] as const);
  if (mapped.some(([name, one]) => one !== value[name])) seen.set(value, Object.fromEntries(mapped));
  return seen.get(value);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // The codec refuses symbols, which a copy would not have.
  if (Object.getOwnPropertySymbols(value).length > 0) return false;
  return prototype === Object.prototype || prototype === null;
}
