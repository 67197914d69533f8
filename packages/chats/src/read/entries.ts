import { envelope, valueOf as valueOfEnvelope } from "@scrollback/collections";
import { type ChatMessage, jsonCodec, StoreError, type ThreadPage } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import { isCount } from "@scrollback/store-core/internal";
import type { ChatEntry, Identified, LastMessage } from "../chat.ts";
import { filesOf, type StoredFile } from "../files/extract.ts";

const PREVIEW_CHARACTERS = 160;

/** A stored entry. */
export interface StoredEntry<M> extends ChatEntry<M> {
  /** The chat's number of commits when the entry was written. Never decreases along a chat. */
  readonly writes: number;
  /** What is stored apart from the message. Absent if nothing is. */
  readonly uses?: readonly StoredFile[];
}

/** An entry that is not stored yet. The commit sets its number. */
export function newEntry<M>(message: M, now: number, fields: Partial<StoredEntry<M>> = {}): StoredEntry<M> {
  return withMessage({ createdAt: now, updatedAt: now, status: "complete", ...fields, writes: 0 }, message);
}

/** An entry with another message: one that is new, with its own files, or one that was made of the entry's. */
export function withMessage<M>(
  { uses: before, ...entry }: Omit<StoredEntry<M>, "message">,
  message: M,
): StoredEntry<M> {
  const uses = filesOf(Object(message)) ?? before ?? [];
  return { ...entry, message, ...(uses.length > 0 && { uses }) };
}

export function messageOf<M extends Identified>(entry: StoredEntry<M>): ChatMessage {
  return envelope(entry.message.role, entry, entry.message.id);
}

/** @throws StoreError `CORRUPT` for a message that is not an entry of a chat. */
export function entryOf<M>(
  threadId: string,
  { sequence, message }: ThreadPage["entries"][number],
): StoredEntry<M> {
  try {
    return valueOfEnvelope<StoredEntry<M>>(message, entryProblem);
  } catch (cause) {
    const problem = `message ${sequence} of thread "${threadId}" is not an entry of a chat`;
    throw new StoreError("CORRUPT", problem, { threadId, sequence, cause });
  }
}

function entryProblem(value: unknown): string | undefined {
  const { message, writes } = Object(value) as Partial<StoredEntry<unknown>>;
  const { id, role } = Object(message) as { id?: unknown; role?: unknown };
  return (
    isObject(value) ??
    isCount(writes) ??
    (typeof id === "string" && typeof role === "string" ? undefined : "must have a message with id and role")
  );
}

/** The public fields of an entry. */
export function publicEntry<M>({
  writes,
  uses,
  ...entry
}: ChatEntry<M> & Partial<Pick<StoredEntry<M>, "writes" | "uses">>): ChatEntry<M> {
  return uses ? { ...entry, files: uses.map(({ digest }) => digest) } : entry;
}

/** Whether two messages have the same stored text. */
export function isSameMessage(one: unknown, other: unknown): boolean {
  return jsonCodec.encode(one) === jsonCodec.encode(other);
}

/** Whether two messages have the same content: they may differ in `metadata`. */
export function isSameContent(one: object, other: object): boolean {
  return isSameMessage({ ...one, metadata: undefined }, { ...other, metadata: undefined });
}

/** The summary of the newest message, in lists. */
export function lastMessageOf<M extends Identified>(
  { message, createdAt }: StoredEntry<M>,
  preview: (message: M) => string,
): LastMessage {
  const text = [...preview(message).slice(0, PREVIEW_CHARACTERS * 2)].slice(0, PREVIEW_CHARACTERS).join("");
  return { id: message.id, role: message.role, text: text.toWellFormed(), createdAt };
}

/** The text of a message: its content, or the text of its parts. */
export function textOf(message: object): string {
  const { content, parts } = message as { content?: unknown; parts?: unknown };
  if (typeof content === "string") return content;
  const list = [content, parts].find((one) => Array.isArray(one)) ?? [];
  const texts = (list as unknown[]).flatMap((part) => {
    const { type, text } = Object(part) as { type?: unknown; text?: unknown };
    return type === "text" && typeof text === "string" ? text : [];
  });
  return texts.join("\n");
}

/** The fields that say nothing by themselves. */
const FRAME = new Set(["id", "role", "authorName", "createdAt"]);

/** Whether a message says something: it has text, parts, tool calls, metadata or any other field that is not empty. */
export function hasContent(message: object): boolean {
  const isEmpty = (value: unknown) =>
    typeof value === "object" && value !== null ? Object.keys(value).length === 0 : (value ?? "") === "";
  return Object.entries(message).some(([name, value]) => !FRAME.has(name) && !isEmpty(value));
}

/** The end of an answer whose process died. */
export const LOST = { status: "failed", error: "the process that made the answer was lost" } as const;

/** The entries, with the answer of a lost run closed as failed. */
export function withLostAnswer<M extends { readonly id: string }, E extends ChatEntry<M>>(
  entries: readonly E[],
  messageId: string,
  closeAnswer: (message: M) => M,
): E[] {
  return entries.map((entry) =>
    entry.message.id === messageId && entry.status === "partial"
      ? { ...entry, message: closeAnswer(entry.message), ...LOST }
      : entry,
  );
}
