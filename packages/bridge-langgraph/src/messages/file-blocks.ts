import type { ContentBlock } from "@langchain/core/messages";
import type { FilePart, Part } from "@scrollback/store-core";
import {
  fileContent,
  fileOfPart,
  fileSource,
  type MessageLosses,
  parseDataUrl,
} from "@scrollback/store-core/internal";

const kinds = ["image", "audio", "video"] as const;
/** The media type of a file without one. */
const UNKNOWN_TYPE = "application/octet-stream";

/** Converts a file to one of LangChain's standard blocks. Undefined for a part without file content. */
export function fileBlock(
  part: Extract<Part, { type: "file" | "image" }>,
  path: string,
  losses: MessageLosses,
): ContentBlock.Multimodal.Standard | undefined {
  const file = fileOfPart(part, path, losses);
  if (!file) return undefined;
  const { source, mediaType, filename } = file;
  const kind = kinds.find((one) => mediaType === one || mediaType.startsWith(`${one}/`)) ?? "file";
  const fileId = source.type === "reference" ? source.reference.openai : undefined;
  // A block has an id, but does not name the provider of the id.
  if (source.type === "reference" && fileId === undefined) return undefined;
  const isNamed = typeof filename === "string";
  if (!isNamed) losses.unread(path, { filename });
  const metadata = isNamed ? { metadata: { filename } } : {};
  const content = source.type === "url" ? { url: source.url } : { data: (source as { data: string }).data };
  const block = {
    type: kind,
    mimeType: mediaType,
    ...metadata,
    ...(fileId === undefined ? content : { fileId }),
  };
  return block as ContentBlock.Multimodal.Standard;
}

/** Converts the file of a block: a standard one, one of the older form, or an image URL. Undefined for other blocks. */
export function filePart(
  block: Readonly<Record<string, unknown>>,
  path: string,
  losses: MessageLosses,
): FilePart | undefined {
  const { type, ...fields } = block;
  if (type === "image_url") return imageUrlPart(fields, path, losses);
  if (type !== "file" && !kinds.some((kind) => kind === type)) return undefined;
  const { mimeType, mime_type, source_type, url, data, text, fileId, id, metadata, ...unread } = fields;
  const mediaType = mimeType ?? mime_type ?? (type === "file" ? UNKNOWN_TYPE : type);
  if (typeof mediaType !== "string") return undefined;
  const reference = fileId ?? (source_type === "id" ? id : undefined);
  const content =
    typeof reference === "string"
      ? { type: "reference", reference: { openai: reference } }
      : typeof url === "string"
        ? { type: "url", url }
        : typeof text === "string" && source_type === "text"
          ? { type: "text", text }
          : { type: "data", data };
  const source = fileSource(content, mediaType);
  if (!source) return undefined;
  losses.unread(path, unread);
  // The id of a block that is not the id of the file.
  if (id !== reference) losses.unread(path, { id });
  const { filename, ...other } = Object(metadata) as Record<string, unknown>;
  losses.unread(`${path}.metadata`, other);
  const isNamed = typeof filename === "string";
  if (!isNamed) losses.unread(`${path}.metadata`, { filename });
  return { type: "file", mediaType, ...(isNamed && { filename }), data: fileContent(source) };
}

function imageUrlPart(
  { image_url, ...unread }: Readonly<Record<string, unknown>>,
  path: string,
  losses: MessageLosses,
): FilePart | undefined {
  const isObject = typeof image_url === "object" && image_url !== null;
  const { url, ...other } = (isObject ? image_url : { url: image_url }) as Record<string, unknown>;
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  losses.unread(path, unread);
  losses.unread(`${path}.image_url`, other);
  const mediaType = parseDataUrl(url)?.mediaType ?? "image";
  const source = fileSource(url, mediaType);
  return source && { type: "file", mediaType, data: fileContent(source) };
}
