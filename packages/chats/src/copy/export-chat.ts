import { jsonCodec } from "@scrollback/store-core";
import { encodeWrapped } from "@scrollback/store-core/internal";
import type { Chat, ChatEntry, ChatPage, Identified } from "../chat.ts";
import { publicEntry, withLostAnswer } from "../read/entries.ts";
import type { ChatContinuation } from "../siblings/copied-continuations.ts";

/** The first character of the JSON codec's text for values that JSON does not support, see docs/reference/codecs.md. */
const TYPED_MARK = "~";

/** A chat with its messages. Plain JSON. */
export interface ChatExport {
  readonly type: "scrollback.chat";
  readonly version: 2;
  readonly chat: Omit<Chat, "incarnation" | "revision" | "run" | "siblings">;
  readonly entries: readonly ChatEntry<unknown>[];
  /** What the chat keeps beside its path; absent if that is nothing. */
  readonly continuations?: readonly ChatContinuation<unknown>[];
  /** Restores the values that JSON does not support (dates, bytes); absent if there are none. */
  readonly types?: unknown;
}

/** The export of a chat. The answer of a lost run is exported as failed. */
export function exportOf<M extends Identified>(
  { chat: { incarnation, revision, run, siblings, ...chat }, entries }: ChatPage<M>,
  kept: readonly ChatContinuation<M>[],
  closeAnswer: (message: M) => M,
): ChatExport {
  const closed = run?.state === "lost" ? withLostAnswer(entries, run.messageId, closeAnswer) : entries;
  const continuations = kept.map((one) => ({ ...one, entries: one.entries.map(publicEntry) }));
  const text = encodeWrapped({ chat, entries: closed, ...(kept.length > 0 && { continuations }) });
  const isTyped = text.startsWith(TYPED_MARK);
  const parsed = JSON.parse(isTyped ? text.slice(TYPED_MARK.length) : text);
  const { json, meta } = isTyped ? parsed : { json: parsed, meta: undefined };
  return { type: "scrollback.chat", version: 2, ...json, ...(meta !== undefined && { types: meta }) };
}

/** The chat of an export, with the values that JSON does not support. Throws for anything that is not an export. */
export function decodeExport({
  chat,
  entries,
  continuations,
  types,
}: ChatExport): Required<Pick<ChatExport, "chat" | "entries" | "continuations">> {
  const json = { chat, entries, ...(continuations !== undefined && { continuations }) };
  const text =
    types === undefined ? JSON.stringify(json) : TYPED_MARK + JSON.stringify({ json, meta: types });
  return { continuations: [], ...(jsonCodec.decode(text) as Pick<ChatExport, "chat" | "entries">) };
}
