import { StoreError } from "@scrollback/store-core";
import { resultNow, sleep, uuidV7 } from "@scrollback/store-core/internal";
import type { ChatEntry, ChatPatch, Identified, Placed } from "../chat.ts";
import { checkRunChange } from "../checks.ts";
import { ChatView } from "../read/chat-view.ts";
import {
  isSameMessage,
  LOST,
  newEntry,
  publicEntry,
  type StoredEntry,
  withMessage,
} from "../read/entries.ts";
import { type Head, isRunning, newHead, type StoredRun } from "../read/head.ts";
import { firstIds } from "../siblings/continuations.ts";
import { leavingFrom } from "../siblings/leave.ts";
import type { ChatLocation } from "../threads.ts";
import { patched } from "../write/changes.ts";
import { checkAfter, missingChat, type Written, writeChat } from "../write/write-chat.ts";
import { ActiveRun } from "./active-run.ts";
import type { RunContext } from "./runs.ts";

/** The time to wait for the end of a run after a request to stop. */
const STOP_WAIT_MS = 1_000;
const STOP_LOOK_MS = 50;

/** What becomes of a chat's messages when a run begins. `{}` changes nothing. */
export interface RunChange<M> {
  /** The number of messages that stay, counted from the first. Default: all. */
  readonly keep?: number;
  /**
   * The messages behind them. A message that stays already is not added again: the same id with other content is `CONFLICT`. A
   * message whose id `keep` drops takes its place: it keeps `createdAt`, status and error.
   */
  readonly append?: readonly M[];
  /** Keeps what `keep` drops as a sibling of what takes its place. Default false. A message of `append` is then always a new one. */
  readonly keepSibling?: boolean;
  /** The id of an assistant message that the run continues. Default: the run makes a new message. */
  readonly continues?: string;
}

/**
 * Decides the change from the current messages. Each attempt calls it again, so it always fits the committed state.
 *
 * @param stopped the `messageId` of the run that this call has stopped (`whileRunning: "stop"`).
 */
export type DecideRunChange<M> = (entries: readonly ChatEntry<M>[], stopped?: string) => RunChange<M>;

/** The options of {@link OwnedChats.begin}. */
export interface BeginOptions extends Placed {
  /** 1 to 256 bytes, new for each run: `CONFLICT` for that of the chat's unfinished run. Default: a UUID. */
  readonly runId?: string;
  /**
   * The id of the answer. Default: that of {@link RunChange.continues}, otherwise a UUID. `CONFLICT` for the id of a message of the
   * chat, except the message that the run continues, and the last message if it is the answer of a run that did not end.
   */
  readonly messageId?: string;
  /**
   * The handling of a run that is not lost. `"reject"` (default): this call fails with `CONFLICT`. Otherwise this call requests
   * that run to stop, waits up to 1 second for its end, and fences it off. Its last saved answer stays, as `"stopped"`.
   * Its end changes the chat, so a call with `expectedRevision` then fails with `CONFLICT`.
   */
  readonly whileRunning?: "reject" | "stop";
  /** The fields of a chat that this call creates. */
  readonly create?: ChatPatch;
}

/** Commits a change and the lease of a chat in one commit. */
export async function beginRun<M extends Identified>(
  context: RunContext<M>,
  location: ChatLocation,
  asked: RunChange<M> | DecideRunChange<M>,
  options: BeginOptions,
): Promise<ActiveRun<M>> {
  return await context.runs.inTurn(location.threadId, options.operationId, () =>
    begin(context, location, asked, options),
  );
}

async function begin<M extends Identified>(
  context: RunContext<M>,
  location: ChatLocation,
  asked: RunChange<M> | DecideRunChange<M>,
  options: BeginOptions,
): Promise<ActiveRun<M>> {
  const {
    runId: id = uuidV7(),
    messageId: given,
    whileRunning = "reject",
    after,
    create,
    ...write
  } = options;
  const canCreate = typeof asked === "function" || asked.append !== undefined;
  const intent = [
    typeof asked === "function" ? null : asked,
    after,
    options.runId,
    given,
    ...(create ? [create] : []),
  ];
  let messageId = given ?? uuidV7();
  let fenced: StoredRun | undefined;
  for (;;) {
    let running: StoredRun | undefined;
    let isAllowed = false;
    let before: StoredRun | undefined;
    let earlier: Head | undefined;
    let written: Written<M>;
    try {
      written = await writeChat<M>(context, location, {
        method: "begin",
        limit: undefined,
        options: write,
        intent,
        ...(canCreate && { create: (now: number) => newHead(location.chatId, now) }),
        repeated: (head) => {
          earlier = head;
        },
        plan: async (view, head, now) => {
          before = head.run;
          running = before && before.id !== fenced?.id && isRunning(before, now) ? before : undefined;
          if (running && whileRunning === "reject") throw runUnderWay();
          // Under the same id the old run, whose process may be alive, would pass for the new one.
          if (before?.id === id)
            throw new StoreError(
              "CONFLICT",
              "begin: the chat's unfinished run has this runId; use a new one",
            );
          const stopped = running ?? fenced;
          const entries = before
            ? closedEntries(context, view.entries, before, stopped?.id, now)
            : view.entries;
          const decided =
            typeof asked === "function" ? decide(context, asked, entries, stopped?.messageId) : asked;
          const { append } = decided;
          const change: RunChange<M> = {
            ...decided,
            ...(append && { append: append.map((one) => context.files.extract(location, one)) }),
          };
          if (!view.head && !change.append?.length) throw missingChat("begin");
          const next = changedEntries(entries, change, now);
          // A repeated call adds nothing, and its `after` is the last message no more. The end of a run changes the last message.
          if (!running && (next !== entries || !change.append?.length)) checkAfter("begin", head, after);
          const { continues } = change;
          messageId = given ?? continues ?? messageId;
          // A repeated call makes the unfinished answer of its first attempt again.
          const isRetry = before?.messageId === messageId && next.at(-1)?.message.id === messageId;
          const isTaken =
            next.some(({ message }) => message.id === messageId) || firstIds(head.parts ?? {}).has(messageId);
          if (isTaken && !isRetry && messageId !== continues)
            throw new StoreError(
              "CONFLICT",
              "begin: the chat has a message with this messageId; use a new id",
            );
          // Thrown here, because a call that is refused stops no run, and because a plan without changes would be remembered as done.
          if (running) {
            isAllowed = true;
            throw runUnderWay();
          }
          const run: StoredRun = { id, messageId, startedAt: now, beatAt: now, leaseMs: context.leaseMs };
          const fields = view.head || !create ? {} : patched("begin", head, create, next);
          const { keep = entries.length, keepSibling } = change;
          const leaves = keepSibling ? leavingFrom(context, entries, keep, undefined, now) : undefined;
          return { entries: next, ...(leaves && { leaves }), head: { ...fields, run }, isActive: true };
        },
      });
    } catch (error) {
      if (!running || !isAllowed) throw error;
      await stopAndWait(context, location, running);
      fenced = running;
      continue;
    }
    if (earlier) return begunEarlier(context, location, earlier, write.operationId);
    context.runs.abort(location.threadId, before?.id, "taken-over");
    const run = new ActiveRun(context, location, { id, messageId, operationId: write.operationId, written });
    context.runs.add(location.threadId, run);
    return run;
  }
}

function runUnderWay(): StoreError {
  return new StoreError("CONFLICT", "begin: a run of the chat is under way; wait for it, or stop it");
}

/** @throws StoreError `INVALID_ARGUMENT` if the decision is not a valid change. */
function decide<M extends Identified>(
  context: RunContext<M>,
  decideChange: DecideRunChange<M>,
  entries: readonly StoredEntry<M>[],
  stopped: string | undefined,
): RunChange<M> {
  const change = resultNow("begin: the change", decideChange(entries.map(publicEntry), stopped));
  checkRunChange(change, context.check);
  return change;
}

/** The active run of this process that an earlier identical call began. @throws StoreError `CONFLICT` if there is none. */
function begunEarlier<M extends Identified>(
  { runs }: RunContext<M>,
  { threadId }: ChatLocation,
  { run }: Head,
  operationId: string | undefined,
): ActiveRun<M> {
  const local = runs.find(threadId, run?.id);
  // The chat's run may be of a later operation.
  if (local && local.operationId === operationId) return local;
  throw new StoreError(
    "CONFLICT",
    "begin: the run of this operationId was begun already, and has ended or is in another process",
  );
}

/**
 * The entries after a change; the same array if it changes nothing.
 *
 * @throws StoreError `CONFLICT` for the id of a message that stays, `NOT_FOUND` for an answer to continue that is not there.
 */
function changedEntries<M extends Identified>(
  entries: readonly StoredEntry<M>[],
  { keep = entries.length, append = [], continues, keepSibling = false }: RunChange<M>,
  now: number,
): readonly StoredEntry<M>[] {
  const dropped = entries.slice(keep);
  const added = append.flatMap((message) => {
    const isOfId = (entry: StoredEntry<M>) => entry.message.id === message.id;
    const before = keepSibling ? undefined : dropped.findLast(isOfId);
    if (before)
      return before.message === message ? [before] : [withMessage({ ...before, updatedAt: now }, message)];
    const stays = entries.slice(0, keep).findLast(isOfId);
    if (!stays) return [newEntry(message, now)];
    if (dropped.length === 0 && isSameMessage(stays.message, message)) return [];
    throw new StoreError("CONFLICT", "begin: the chat has another message with this id; use a new id");
  });
  const isChanged = dropped.length > 0 || added.length > 0;
  const next = isChanged ? [...entries.slice(0, keep), ...added] : entries;
  if (continues === undefined) return next;
  const index = next.findLastIndex(({ message }) => message.id === continues && message.role === "assistant");
  const continued = next[index];
  if (!continued) throw new StoreError("NOT_FOUND", "begin: the chat has no answer with the id of continues");
  const { error: _, ...rest } = continued;
  // Whoever finds the run lost, or copies the chat, closes this answer.
  return next.with(index, { ...rest, status: "partial" });
}

/** The entries, with the last saved answer of a run that cannot continue. */
function closedEntries<M extends Identified>(
  { closeAnswer }: RunContext<M>,
  entries: readonly StoredEntry<M>[],
  run: StoredRun,
  fenced: string | undefined,
  now: number,
): readonly StoredEntry<M>[] {
  const index = entries.findLastIndex(
    ({ message, status }) => message.id === run.messageId && status === "partial",
  );
  const entry = entries[index];
  if (!entry) return entries;
  // A lost run with a request to stop did not stop: its answer, which readers saw as failed, stays failed.
  const fields = run.id === fenced ? { status: "stopped" as const } : LOST;
  return entries.with(
    index,
    newEntry(closeAnswer(entry.message), now, {
      ...{ createdAt: entry.createdAt, ...fields },
      ...(entry.uses && { uses: entry.uses }),
    }),
  );
}

/** Requests a run in any process to stop, and waits up to 1 second for its end. */
async function stopAndWait<M extends Identified>(
  context: RunContext<M>,
  location: ChatLocation,
  { id }: StoredRun,
): Promise<void> {
  await stopRun(context, location, id);
  const end = performance.now() + STOP_WAIT_MS;
  while (performance.now() < end) {
    const { head } = await ChatView.read<M>(context.stores, location.threadId, { limit: 0 });
    if (head?.run?.id !== id) return;
    await sleep(STOP_LOOK_MS);
  }
}

/** Requests the run of a chat to stop. Returns false if no run is active. */
export async function stopRun<M extends Identified>(
  context: RunContext<M>,
  location: ChatLocation,
  runId: string | undefined,
): Promise<boolean> {
  // A run of this process stops even if the store is unreachable, and may end before its lease is read.
  const { runs } = context;
  let isStopped =
    runId === undefined
      ? runs.abortAll(location.threadId, "stopped")
      : runs.abort(location.threadId, runId, "stopped");
  try {
    await writeChat<M>(context, location, {
      method: "stop",
      limit: 0,
      options: {},
      intent: null,
      plan: (_view, { run }, now) => {
        if (!run || (runId !== undefined && run.id !== runId) || !isRunning(run, now)) return undefined;
        isStopped = true;
        runs.abort(location.threadId, run.id, "stopped");
        return run.stop ? undefined : { head: { run: { ...run, stop: true } } };
      },
    });
  } catch (error) {
    if (!StoreError.is(error, "NOT_FOUND")) throw error;
  }
  return isStopped;
}
