import type { FileContent } from "@scrollback/store-core";

/** Where the content of a file is found in a UI message. */
export interface FileLocation {
  readonly url: string;
  readonly providerReference?: Record<string, string>;
}

/** The content of a file as a URL; bytes and base64 become a data URL. Undefined for what has none. */
export function fileLocation(content: FileContent, mediaType: string): FileLocation | undefined {
  if (content instanceof URL) return { url: content.href };
  if (content instanceof Uint8Array || content instanceof ArrayBuffer)
    return { url: dataUrl(content, mediaType) };
  if (typeof content === "string")
    return { url: URL.canParse(content) ? content : `data:${mediaType};base64,${content}` };
  switch (content.type) {
    case "url":
      return { url: new URL(content.url as string | URL).href };
    case "data":
      return fileLocation(content.data as string | Uint8Array, mediaType);
    case "text":
      return { url: dataUrl(Buffer.from(String(content.text)), mediaType) };
    case "reference":
      // The URL of such a file is not used: the reference comes first.
      return { url: "", providerReference: content.reference as Record<string, string> };
    default:
      return undefined;
  }
}

function dataUrl(bytes: Uint8Array | ArrayBuffer, mediaType: string): string {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
  return `data:${mediaType};base64,${Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("base64")}`;
}
