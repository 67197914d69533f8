import { StoreError } from "@scrollback/store-core";
import type { Chat, Identified } from "../chat.ts";
import { deleteChat } from "../list/delete-chats.ts";
import { ChatView } from "../read/chat-view.ts";
import { type StoredEntry, withLostAnswer } from "../read/entries.ts";
import { chatOf, isRunning, operationOf, withOperation } from "../read/head.ts";
import type { RunContext } from "../run/runs.ts";
import { readContinuations } from "../siblings/copied-continuations.ts";
import { type ChatLocation, idOfOperation } from "../threads.ts";
import { type Plan, takenId, type WriteRequest, type Written, writeChat } from "../write/write-chat.ts";
import { copyChat } from "./copy-chat.ts";

/**
 * Moves a chat to another owner: forbids its writes, copies it, and deletes it. Each step finds what an earlier call has done, so a
 * repeated call finishes the move.
 */
export async function moveChat<M extends Identified>(
  context: RunContext<M>,
  source: ChatLocation,
  target: ChatLocation,
  signal: AbortSignal | undefined,
): Promise<Chat> {
  const { stores } = context;
  const id = idOfOperation(stores, JSON.stringify([source.threadId, target.threadId]), "move");
  const options = signal ? { signal } : {};
  const readTarget = () => ChatView.read<M>(stores, target.threadId, { limit: 0, signal });
  const { head: there } = await readTarget();
  const write = (plan: WriteRequest<M>["plan"]): Promise<Written<M>> =>
    writeChat(context, source, { method: "move", limit: undefined, options, intent: null, plan });
  let fixed: Written<M>;
  try {
    fixed = await write(({ entries }, head, now): Plan<M> | undefined => {
      const { run, movesTo, updatedAt } = head;
      if (movesTo === target.ownerName) return undefined;
      if (movesTo !== undefined)
        throw new StoreError("CONFLICT", "move: the chat is being moved to another owner; finish that first");
      if (there && !there.copying) throw takenId("move");
      if (run && isRunning(run, now))
        throw new StoreError("CONFLICT", "move: a run of the chat is under way; wait for it, or stop it");
      return {
        entries: run ? withLostAnswer(entries, run.messageId, context.closeAnswer) : entries,
        head: { movesTo: target.ownerName, run: undefined, updatedAt },
      };
    });
  } catch (error) {
    if (!StoreError.is(error, "NOT_FOUND")) throw error;
    const { head, revision } = await readTarget();
    if (!head || head.copying || revision === null) throw error;
    if (!head.operations.some(([made]) => made === id)) throw error;
    // An earlier call may have failed after it deleted the chat of the old owner.
    await context.sweep(source.threadId, signal);
    return chatOf(head, revision, context);
  }
  const {
    version,
    id: chatId,
    incarnation,
    writes,
    listed,
    movesTo,
    parts = {},
    messageCount,
    lastMessage,
    ...fields
  } = fixed.head;
  const operation = operationOf(id, "move", incarnation);
  const kept = await readContinuations(context, source.threadId, parts, signal);
  const fromSource = (entry: StoredEntry<M>) => context.files.copied(source, entry);
  const moved = await copyChat(context, target, {
    method: "move",
    entries: fixed.entries.map(fromSource),
    continuations: kept.map((one) => ({ ...one, entries: one.entries.map(fromSource) })),
    fields: { ...fields, operations: withOperation(fixed.head, operation) },
    operation,
    signal,
  }).catch(async (error) => {
    // The new owner has another chat of this id. The old one can change the chat again.
    if (StoreError.is(error, "CONFLICT"))
      await write((_, { updatedAt }) => ({ head: { movesTo: undefined, updatedAt } }));
    throw error;
  });
  const isMeant = ({ head }: { head: { incarnation: string } }) => head.incarnation === incarnation;
  await deleteChat(context, source, { signal, isMeant });
  return moved;
}
