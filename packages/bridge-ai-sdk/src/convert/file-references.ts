import {
  type ChatEntry,
  fileReference,
  filesIn,
  type OwnedChats,
  parseFileReference,
} from "@scrollback/chats";
import { invalid } from "@scrollback/store-core/driver";
import type { UIMessage } from "ai";
import type { UIPart } from "./tool-parts.ts";

/** Under any address that the page has for the handler. */
const FILE_ROUTE = /\/chats\/[^/]+\/files\/([\w-]{43})\?type=([^&]{0,800})$/;

/** The URL of the route that serves a file. */
function fileUrl(chatId: string, fileId: string, mediaType: string): string {
  return `/api/chats/${encodeURIComponent(chatId)}/files/${fileId}?type=${encodeURIComponent(mediaType)}`;
}

/** Messages for a client: the files that are stored apart have the URLs of their route; where a message has other data of a file, it is whole. */
export async function withFileUrls<UI extends UIMessage>(
  mine: OwnedChats<UI>,
  chatId: string,
  entries: readonly ChatEntry<UI>[],
): Promise<ChatEntry<UI>[]> {
  const shown: ChatEntry<UI>[] = [];
  for (const { files, ...entry } of entries) {
    if (!files) {
      shown.push(entry);
      continue;
    }
    const urlOf = (part: UIPart): UIPart => {
      if (part.type !== "file" && part.type !== "reasoning-file") return part;
      const { fileId, mediaType } = parseFileReference(part.url) ?? {};
      return fileId !== undefined && mediaType !== undefined && files.includes(fileId)
        ? { ...part, url: fileUrl(chatId, fileId, mediaType) }
        : part;
    };
    const message = { ...entry.message, parts: entry.message.parts.map(urlOf) };
    shown.push({ ...entry, message: await mine.withFiles(message, files) });
  }
  return shown;
}

/**
 * Refuses values of a client with texts that are references to files: a read puts a file in the place of each, however large it is, and
 * wherever it stands.
 *
 * @throws StoreError `INVALID_ARGUMENT`.
 */
export function assertNoReferences(what: string, value: unknown): void {
  if (filesIn(value).size > 0)
    invalid(
      `${what} has a text that is a reference to a file; send the URL that the page has of it, in a file part`,
    );
}

/** A part that a client sends, in which the URL of a stored file is the reference to it. */
export function withReference(part: unknown): unknown {
  const { type, url } = Object(part) as { type?: unknown; url?: unknown };
  if (type !== "file" || typeof url !== "string") return part;
  const [, fileId, mediaType] = FILE_ROUTE.exec(url) ?? [];
  if (fileId === undefined || mediaType === undefined) return part;
  try {
    return { ...Object(part), url: fileReference(fileId, decodeURIComponent(mediaType)) };
  } catch {
    return part;
  }
}
