import { StoreError } from "@scrollback/store-core";
import type { Identified } from "../chat.ts";
import type { ChatView } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { entryOf, withLostAnswer } from "../read/entries.ts";
import { type Head, isRunning } from "../read/head.ts";
import type { Plan } from "../write/write-chat.ts";
import { partOf } from "./continuations.ts";
import { leavingFrom } from "./leave.ts";

/** Puts a continuation in the place of what is behind the message that it follows. Undefined if it is on the path already. */
export async function planSwitch<M extends Identified>(
  context: ChatContext<M>,
  view: ChatView<M>,
  head: Head,
  messageId: string,
  now: number,
  signal: AbortSignal | undefined,
): Promise<Plan<M> | undefined> {
  const { parts = {}, run } = head;
  if (run && isRunning(run, now))
    throw new StoreError("CONFLICT", "switchTo: a run of the chat is under way; wait for it, or stop it");
  const part = partOf(parts, messageId);
  const continuation = part === undefined ? undefined : parts[part];
  if (part === undefined || !continuation) {
    if ((await view.findIndex(({ message }) => message.id === messageId)) >= 0) return undefined;
    throw noSibling("switchTo");
  }
  const { threadId } = view.store;
  const page = await context.parts.read(threadId, part, { signal });
  if (!page) throw noSibling("switchTo");
  const { behind } = continuation;
  const isBefore = (id: string) => id === behind;
  if (behind !== null) await view.findIndex(({ message }) => isBefore(message.id));
  while (behind === null && !view.isWhole) await view.loadOlder();
  const entered = page.entries.map((entry) => entryOf<M>(threadId, entry));
  if (run) await view.findIndex(({ message }) => message.id === run.messageId);
  const closed = run ? withLostAnswer(view.entries, run.messageId, context.closeAnswer) : view.entries;
  const end = behind === null ? 0 : closed.findLastIndex(({ message }) => isBefore(message.id)) + 1;
  const leaves = leavingFrom(context, closed, end, run, now);
  return {
    entries: [...closed.slice(0, end), ...entered],
    enters: part,
    ...(leaves && { leaves }),
    head: { run: undefined },
  };
}

/** Forgets a sibling that is not on the path, and what branches off it. */
export function planDeleteSibling(head: Head, messageId: string): Plan<never> {
  const { parts = {} } = head;
  const part = partOf(parts, messageId);
  if (part !== undefined) return { forgets: part };
  if (Object.values(parts).some(({ in: of, beside }) => of === undefined && beside?.[0] === messageId))
    throw new StoreError(
      "CONFLICT",
      "deleteSibling: the message is on the path of the chat; switchTo a sibling of it first",
    );
  throw noSibling("deleteSibling");
}

function noSibling(method: string): StoreError {
  return new StoreError(
    "NOT_FOUND",
    `${method}: no message on the path of the chat has a sibling with this id`,
  );
}
