import type { UserMessageItem } from "@openai/agents-core";
import type { FilePart } from "@scrollback/store-core";
import {
  fileContent,
  type fileOfPart,
  fileSource,
  type MessageLosses,
  parseDataUrl,
  urlOfFile,
} from "@scrollback/store-core/internal";

/** A piece of input from a user or a tool. */
export type InputContent = Exclude<UserMessageItem["content"], string>[number];

/** The media type of a file without one. */
const UNKNOWN_TYPE = "application/octet-stream";

/** Converts a file to input. Reports the fields that the input lacks. Undefined if the SDK has no form for the file. */
export function fileItem(
  { source, mediaType, filename }: NonNullable<ReturnType<typeof fileOfPart>>,
  path: string,
  losses: MessageLosses,
): InputContent | undefined {
  const id = source.type === "reference" ? source.reference.openai : undefined;
  const url = urlOfFile(source, mediaType);
  if (id === undefined && url === undefined) return undefined;
  const keepsType = source.type === "data";
  if (mediaType === "image" || mediaType.startsWith("image/")) {
    losses.unread(path, { filename });
    if (!keepsType && mediaType !== "image") losses.changed(`${path}.mediaType`);
    return { type: "input_image", image: id === undefined ? String(url) : { id } };
  }
  if (source.type === "data" && /^audio(\/.|$)/.test(mediaType)) {
    losses.unread(path, { filename });
    const format = mediaType.slice("audio/".length);
    return { type: "audio", audio: source.data, ...(format !== "" && { format }) };
  }
  if (!keepsType && mediaType !== UNKNOWN_TYPE) losses.changed(`${path}.mediaType`);
  const isNamed = typeof filename === "string";
  if (!isNamed) losses.unread(path, { filename });
  const name = isNamed ? { filename } : {};
  if (id !== undefined) return { type: "input_file", file: { id }, ...name };
  return { type: "input_file", file: keepsType ? String(url) : { url: String(url) }, ...name };
}

/** Converts an image, a file or audio to a file part. Undefined if it has no content. */
export function filePart(
  content: Extract<InputContent, { type: "input_image" | "input_file" | "audio" }>,
  path: string,
  losses: MessageLosses,
): FilePart | undefined {
  switch (content.type) {
    case "input_image": {
      const { type: _, image, ...unread } = content;
      losses.unread(path, unread);
      return partOf(image, "image");
    }
    case "input_file": {
      const { type: _, file, filename, ...unread } = content;
      losses.unread(path, unread);
      const isNamed = typeof filename === "string";
      if (!isNamed) losses.unread(path, { filename });
      const part = partOf(file, UNKNOWN_TYPE);
      return part && { ...part, ...(isNamed && { filename }) };
    }
    case "audio": {
      const { type: _, audio, format, ...unread } = content;
      losses.unread(path, unread);
      const isKnown = typeof format === "string" && format !== "";
      if (!isKnown) losses.unread(path, { format });
      return partOf(audio, isKnown ? `audio/${format}` : "audio");
    }
  }
}

function partOf(content: unknown, mediaType: string): FilePart | undefined {
  if (typeof content === "string") {
    const parsed = parseDataUrl(content);
    const type = parsed?.mediaType ?? mediaType;
    const source = fileSource(content, type);
    return source && { type: "file", mediaType: type, data: fileContent(source) };
  }
  const { id, url } = Object(content) as { id?: unknown; url?: unknown };
  if (typeof id === "string")
    return { type: "file", mediaType, data: { type: "reference", reference: { openai: id } } };
  return typeof url === "string" && URL.canParse(url) ? partOf(url, mediaType) : undefined;
}
