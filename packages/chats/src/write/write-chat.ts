import { type Revision, StoreError } from "@scrollback/store-core";
import type { ChatWrite, Identified } from "../chat.ts";
import { ChatView } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import {
  chatOf,
  type Head,
  isDone,
  type Operation,
  operationOf,
  withFields,
  withOperation,
} from "../read/head.ts";
import type { ChatLocation } from "../threads.ts";
import { whileOutdated } from "./attempts.ts";
import { commit, commitPlan, type Plan, type Written } from "./commit-plan.ts";

/** One write to one chat. */
export interface WriteRequest<M extends Identified> {
  readonly method: string;
  /** The number of newest entries that are read with the head; undefined: all. */
  readonly limit: number | undefined;
  readonly options: ChatWrite;
  /** The content of the request, to recognise a repeated write by its operation id. */
  readonly intent: unknown;
  /** Plans the changes of the chat; undefined: none. Each attempt calls it again. */
  plan(view: ChatView<M>, head: Head, now: number): Promise<Plan<M> | undefined> | Plan<M> | undefined;
  /** Creates the head of a missing chat. Default: `NOT_FOUND`. */
  create?(now: number): Head;
  /** Called if the write was made earlier with its operation id. */
  repeated?(head: Head): void;
}

/** Reads a chat, plans a change and commits it at the revision that was read. Retries if another writer was first. */
export async function writeChat<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  request: WriteRequest<M>,
): Promise<Written<M>> {
  const { method, options, intent } = request;
  const { operationId, signal } = options;
  // Only a write with an id is compared with others.
  const operation = operationId === undefined ? undefined : operationOf(operationId, method, intent);
  return await whileOutdated(method, () => writeOnce(context, location, request, operation), { signal });
}

async function writeOnce<M extends Identified>(
  context: ChatContext<M>,
  location: ChatLocation,
  request: WriteRequest<M>,
  operation: Operation | undefined,
): Promise<Written<M>> {
  const { method, limit, options } = request;
  const { expectedRevision, signal } = options;
  const view = await ChatView.read<M>(context.stores, location.threadId, { limit, signal });
  const now = context.now();
  const { head, revision } = view;
  if (head?.copying) throw request.create ? takenId(method) : missingChat(method);
  if (operation && head && revision !== null && isDone(head, operation, method)) {
    request.repeated?.(head);
    return unchanged(context, view, head, revision);
  }
  if (expectedRevision !== undefined && expectedRevision !== revision)
    throw new StoreError("CONFLICT", `${method}: the chat is not at expectedRevision; read it and try again`);
  const base = head ?? request.create?.(now);
  if (!base) throw missingChat(method);
  const plan = await request.plan(view, base, now);
  if (!plan && head && revision !== null) {
    if (!operation) return unchanged(context, view, head, revision);
    const noted = withFields(head, { operations: withOperation(head, operation), writes: head.writes + 1 });
    return await commit(context, location, { method, signal }, view, { head: noted, drop: 0, append: [] });
  }
  return await commitPlan(context, location, view, base, plan ?? {}, { method, now, operation, signal });
}

function unchanged<M extends Identified>(
  context: ChatContext<M>,
  { entries, older }: ChatView<M>,
  head: Head,
  revision: Revision,
): Written<M> {
  return { chat: chatOf(head, revision, context), head, revision, entries, older };
}

/** The message names neither the chat nor its owner, because they may be another user's. */
export function missingChat(method: string): StoreError {
  return new StoreError("NOT_FOUND", `${method}: the chat does not exist; create it first`);
}

/** @throws StoreError `CONFLICT` if the last message is not `after`. */
export function checkAfter(method: string, head: Head, after: string | null | undefined): void {
  if (after === undefined || after === (head.lastMessage?.id ?? null)) return;
  throw new StoreError(
    "CONFLICT",
    `${method}: the last message is not the one of "after"; read the chat and try again`,
  );
}

export function takenId(method: string): StoreError {
  return new StoreError("CONFLICT", `${method}: this chat id is taken; use another one`);
}
