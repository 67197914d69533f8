import { StoreError } from "@scrollback/store-core";
import type { Chat, ChatWrite, Identified } from "../chat.ts";
import { ChatView } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { withLostAnswer } from "../read/entries.ts";
import { chatOf, isDone, isRunning, operationOf } from "../read/head.ts";
import { type ChatLocation, idOfOperation, locationOf } from "../threads.ts";
import { missingChat } from "../write/write-chat.ts";
import { copied, copiedTitle, copyChat } from "./copy-chat.ts";

/** The options of {@link OwnedChats.fork}. */
export interface ForkOptions extends ChatWrite {
  /** The last message of the fork; `null`: none. Default: all messages are copied. */
  readonly at?: string | null;
  /** Default: a UUID; the same one for each call with the same operation id. */
  readonly id?: string;
  /** Default: the title of the original chat, unless it was made of a message that is not copied. */
  readonly title?: string;
}

/** Creates a chat from the first messages of another one. */
export async function forkChat<M extends Identified>(
  context: ChatContext<M>,
  source: ChatLocation,
  { at, id, title, operationId, expectedRevision, signal }: ForkOptions,
): Promise<Chat> {
  const { stores } = context;
  const view = await ChatView.read<M>(stores, source.threadId, { signal });
  const { head, revision } = view;
  if (!head || head.copying) throw missingChat("fork");
  const derivedFrom = JSON.stringify([source.owner, source.chatId, head.incarnation]);
  const target = locationOf(source.owner, id ?? idOfOperation(stores, derivedFrom, operationId));
  const operation =
    operationId === undefined ? undefined : operationOf(operationId, "fork", [source.chatId, at, title]);
  const index = view.entries.findLastIndex(({ message }) => message.id === at);
  const problem =
    expectedRevision !== undefined && expectedRevision !== revision
      ? new StoreError("CONFLICT", "fork: the chat is not at expectedRevision; read it and try again")
      : index < 0 && typeof at === "string"
        ? new StoreError("NOT_FOUND", "fork: the chat has no message with this id")
        : undefined;
  if (problem) {
    // The fork may already exist under its operation id, and the chat may have changed since.
    const made = operation && (await ChatView.read<M>(stores, target.threadId, { limit: 0, signal }));
    if (!operation || !made?.head || made.revision === null || !isDone(made.head, operation, "fork"))
      throw problem;
    return chatOf(made.head, made.revision, context);
  }
  const now = context.now();
  const { labels, metadata, run } = head;
  const isLost = run !== undefined && !isRunning(run, now);
  const closed = isLost ? withLostAnswer(view.entries, run.messageId, context.closeAnswer) : view.entries;
  const entries = at === undefined ? closed : closed.slice(0, index + 1);
  return await copyChat(context, target, {
    method: "fork",
    entries: entries.map((entry) => context.files.copied(source, copied(entry, context.closeAnswer))),
    fields: {
      ...{ labels, metadata, createdAt: now, updatedAt: now, activeAt: now },
      ...(title === undefined ? copiedTitle(head, entries) : { title, titleBy: "user" as const }),
      forkedFrom: { chatId: source.chatId, messageId: entries.at(-1)?.message.id ?? null },
    },
    operation,
    signal,
  });
}
