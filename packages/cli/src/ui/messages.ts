import type { BlobStorage } from "@scrollback/chats";
import { parseFileReference } from "@scrollback/chats";
import { Blobs } from "@scrollback/collections/internal";
import {
  chatMessageTraits,
  type ReadOptions,
  type StoreError,
  type StoreFactory,
  type ThreadPage,
} from "@scrollback/store-core";
import { decodeBase64, formatCursor, parseDataUrl } from "@scrollback/store-core/internal";
import { anyMessageTraits, skippingCorruptRecords } from "../context/open-backend.ts";
import { encodeText } from "../formats/entry.ts";
import { kindOfThread } from "../layers.ts";
import { filesOf } from "../threads/file-work.ts";
import type { MessageRow, MessageRows } from "./api-types.ts";
import { checkpointOf } from "./checkpoints.ts";
import { type MessagePart, partsOf } from "./message-blocks.ts";
import { siblingsIn } from "./siblings.ts";
import { cutLine, textIn } from "./texts.ts";

type Entry = ThreadPage<unknown>["entries"][number];

/** One page of a thread: the newest, or that before or after a cursor. */
export async function readMessages(
  stores: StoreFactory<unknown>,
  threadId: string,
  options: ReadOptions,
): Promise<MessageRows> {
  const errors: StoreError[] = [];
  const page = await skippingCorruptRecords(
    (error) => errors.push(error),
    () => stores.open(threadId).read(options),
  );
  const kind = kindOfThread(threadId, page.metadata);
  const damaged = errors.flatMap(({ sequence, message }) =>
    sequence === undefined ? [] : [{ sequence, problem: cutLine(message) }],
  );
  const siblings = siblingsIn(threadId, page.metadata);
  const readable = page.entries.map((entry) => {
    const { id, ...row } = messageRow(entry, kind);
    const links = siblings.filter(({ beside }) => beside === id).map(({ link }) => link);
    return { ...row, ...(id !== undefined && links.length > 0 && { links }) };
  });
  const messages: MessageRow[] = [...readable, ...damaged];
  return {
    revision: page.revision,
    count: page.count,
    messages: messages.sort((one, other) => one.sequence - other.sequence),
    ...(page.older !== undefined && { older: page.older }),
    ...(page.newer !== undefined && { newer: page.newer }),
    problems: errors.filter(({ sequence }) => sequence === undefined).map(({ message }) => cutLine(message)),
  };
}

/** The cursor before the first message of a thread at a revision. */
export function beginningOf(revision: string): string {
  return formatCursor(revision, 0);
}

/** One message; undefined if it is not there any more. @throws StoreError `CORRUPT` if it cannot be read. */
export async function readMessage(
  stores: StoreFactory<unknown>,
  threadId: string,
  { revision, sequence, signal }: { revision: string; sequence: number; signal: AbortSignal },
): Promise<unknown> {
  const after = formatCursor(revision, sequence - 1);
  const { entries } = await stores.open(threadId).read({ after, limit: 1, signal });
  return entries.find((entry) => entry.sequence === sequence)?.message;
}

/** The content of a file of a message: of a part, by its index. */
export async function readFile(
  stores: StoreFactory<unknown>,
  threadId: string,
  message: unknown,
  index: number,
  { blobs, signal }: { readonly blobs: BlobStorage | undefined; readonly signal: AbortSignal },
): Promise<{ readonly content: Uint8Array; readonly mediaType: string } | undefined> {
  const { file, source } = blocksOf(message, chatKind(threadId)).parts[index] ?? {};
  if (!file || !source) return undefined;
  const { mediaType } = file;
  const inline =
    source.type === "data" ? source.data : parseDataUrl(source.type === "url" ? source.url : "")?.data;
  if (inline !== undefined) {
    const content = decodeBase64(inline);
    return content && { content, mediaType };
  }
  const digest = source.type === "url" ? parseFileReference(source.url)?.fileId : undefined;
  const [, scope] = /^(?:part:)?chats:chat:([^:]*):/.exec(threadId) ?? [];
  // A message may have a text that only looks like a reference.
  if (digest === undefined || scope === undefined || ![...filesOf(message).values()].includes(digest))
    return undefined;
  const files = new Blobs(stores.withTraits(chatMessageTraits), { elsewhere: blobs });
  const found = await files.read({ scope, digest }, { signal });
  return found && { content: found.content, mediaType };
}

function chatKind(threadId: string): string | undefined {
  return kindOfThread(threadId, undefined);
}

function messageRow(
  { sequence, createdAt, message }: Entry,
  kind: string | undefined,
): MessageRow & { readonly id: string | undefined } {
  const { parts, ...row } = blocksOf(message, kind);
  const blocks = parts.map(({ source, ...block }) => block);
  return { sequence, createdAt, size: Buffer.byteLength(encodeText(message)), ...row, blocks };
}

/** A message as its layer reads it. */
function blocksOf(
  stored: unknown,
  kind: string | undefined,
): {
  readonly id: string | undefined;
  readonly role: string;
  readonly marks: readonly string[];
  readonly parts: readonly MessagePart[];
} {
  const checkpoint = kind === "checkpoints" ? checkpointOf(stored) : undefined;
  if (checkpoint) return { ...checkpoint, id: undefined, marks: [] };
  const { metadata } = Object(stored) as { metadata?: unknown };
  const isChat = kind === "chat" || kind === "sibling";
  const entry = isChat ? (Object(metadata) as { message?: unknown; status?: unknown; error?: unknown }) : {};
  const message = entry.message ?? stored;
  const { id, authorName, type } = Object(message) as Record<string, unknown>;
  const marks = [
    ...(typeof authorName === "string" ? [authorName] : []),
    ...(typeof id === "string" ? [id] : []),
    ...(typeof entry.status === "string" && entry.status !== "complete" ? [entry.status] : []),
    ...(typeof entry.error === "string" ? [entry.error] : []),
  ].map(cutLine);
  const role = textIn(message, "role") ?? (typeof type === "string" ? type : anyMessageTraits.role(message));
  return { id: textIn(message, "id"), role: cutLine(role), marks, parts: partsOf(message) };
}
