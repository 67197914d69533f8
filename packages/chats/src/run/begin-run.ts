import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { resultNow } from "@scrollback/store-core/internal";
import type { ChatEntry, ChatPatch, Identified, Placed } from "../chat.ts";
import { ChatView } from "../read/chat-view.ts";
import { LOST, newEntry, publicEntry, type StoredEntry } from "../read/entries.ts";
import { type Head, isRunning, newHead, type StoredRun } from "../read/head.ts";
import type { ChatLocation } from "../threads.ts";
import { patched, planAppend, planDropAnswer, planEdit } from "../write/changes.ts";
import type { Plan, Written } from "../write/commit-plan.ts";
import { checkAfter, missingChat, writeChat } from "../write/write-chat.ts";
import { ActiveRun } from "./active-run.ts";
import { checkRunChange } from "./run-checks.ts";
import type { RunContext } from "./runs.ts";

/** The time to wait for the end of a run after a request to stop. */
const STOP_WAIT_MS = 1_000;
const STOP_LOOK_MS = 50;

/** The changes of a chat when a run begins. */
export type RunChange<M> =
  | { readonly append: readonly M[] }
  | { readonly edit: string; readonly message: M }
  | { readonly dropAnswer: string | undefined }
  /** Each attempt calls `with` again; undefined: `CONFLICT`. */
  | { readonly replace: string; with(stored: M): M | undefined }
  | { readonly nothing: true };

/** Decides the change from the current messages. Each attempt calls it again, so it always fits the committed state. */
export type DecideRunChange<M> = (entries: readonly ChatEntry<M>[]) => RunChange<M>;

/** The options of {@link OwnedChats.begin}. */
export interface BeginOptions extends Placed {
  /** 1 to 256 bytes, new for each run: `CONFLICT` for that of the chat's unfinished run. Default: a UUID. */
  readonly runId?: string;
  /**
   * The id of the answer. Default: with `replace`, the id of an assistant message; otherwise a UUID. `CONFLICT` for the id of a
   * message of the chat, except the assistant message that `replace` continues, and the last message if it is the answer of a run
   * that did not end.
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
    runId: id = randomUUID(),
    messageId: given,
    whileRunning = "reject",
    after,
    create,
    ...write
  } = options;
  const canCreate = typeof asked === "function" || "append" in asked;
  const intent = [
    typeof asked === "function" ? null : { ...asked, with: undefined },
    after,
    options.runId,
    given,
    ...(create ? [create] : []),
  ];
  let messageId = given ?? randomUUID();
  let fenced: string | undefined;
  for (;;) {
    let running: StoredRun | undefined;
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
          running =
            before && before.id !== fenced && isRunning(before, now, context.leaseMs) ? before : undefined;
          // Thrown also before a stop: a plan without changes would be remembered as done under the operation id.
          if (running)
            throw new StoreError(
              "CONFLICT",
              "begin: a run of the chat is under way; wait for it, or stop it",
            );
          // Under the same id the old run, whose process may be alive, would pass for the new one.
          if (before?.id === id)
            throw new StoreError(
              "CONFLICT",
              "begin: the chat's unfinished run has this runId; use a new one",
            );
          const entries = before ? closedEntries(context, view.entries, before, fenced, now) : view.entries;
          const seen = ChatView.known<M>(context.stores, location.threadId, { ...view, head, entries });
          const change = typeof asked === "function" ? decide(context, asked, entries) : asked;
          if (!view.head && !("append" in change)) throw missingChat("begin");
          const plan = await planChange(seen, head, change, after, now);
          const continued = continuedId(change, entries);
          messageId = given ?? continued ?? messageId;
          const next = plan?.entries ?? entries;
          // A repeated call makes the unfinished answer of its first attempt again.
          const isRetry = before?.messageId === messageId && next.at(-1)?.message.id === messageId;
          const isTaken = next.some(({ message }) => message.id === messageId);
          if (isTaken && !isRetry && messageId !== continued)
            throw new StoreError(
              "CONFLICT",
              "begin: the chat has a message with this messageId; use a new id",
            );
          const run: StoredRun = { id, messageId, startedAt: now, beatAt: now };
          const fields = view.head || !create ? {} : patched("begin", head, create);
          return { entries: next, head: { ...fields, run }, isActive: true };
        },
      });
    } catch (error) {
      if (!running || whileRunning === "reject") throw error;
      await stopAndWait(context, location, running);
      fenced = running.id;
      continue;
    }
    if (earlier) return begunEarlier(context, location, earlier, write.operationId);
    context.runs.abort(location.threadId, before?.id, "taken-over");
    const run = new ActiveRun(context, location, { id, messageId, operationId: write.operationId, written });
    context.runs.add(location.threadId, run);
    return run;
  }
}

/** The id of the answer that a change continues. */
function continuedId<M extends Identified>(
  change: RunChange<M>,
  entries: readonly StoredEntry<M>[],
): string | undefined {
  if (!("replace" in change)) return undefined;
  const replaced = entries.findLast(({ message }) => message.id === change.replace);
  return replaced?.message.role === "assistant" ? change.replace : undefined;
}

/** @throws StoreError `INVALID_ARGUMENT` if the decision is not a valid change. */
function decide<M extends Identified>(
  context: RunContext<M>,
  decideChange: DecideRunChange<M>,
  entries: readonly StoredEntry<M>[],
): RunChange<M> {
  const change = resultNow("begin: the change", decideChange(entries.map(publicEntry)));
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

async function planChange<M extends Identified>(
  view: ChatView<M>,
  head: Head,
  change: RunChange<M>,
  after: Placed["after"],
  now: number,
): Promise<Plan<M> | undefined> {
  if ("append" in change) return planAppend(view, head, change.append, after, now);
  checkAfter("begin", head, after);
  if ("edit" in change) return await planEdit(view, head, change.edit, change.message, now);
  if ("dropAnswer" in change) return await planDropAnswer(view, change.dropAnswer);
  if ("nothing" in change) return undefined;
  const index = view.entries.findLastIndex(({ message }) => message.id === change.replace);
  const stored = view.entries[index];
  if (!stored) throw new StoreError("NOT_FOUND", "begin: the chat has no message with this id");
  const message = resultNow("begin: with", change.with(stored.message));
  if (message === undefined)
    throw new StoreError(
      "CONFLICT",
      "begin: the message has changed and can no longer be replaced; read the chat and try again",
    );
  const { createdAt, status } = stored;
  return { entries: view.entries.with(index, newEntry(message, now, { createdAt, status })) };
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
    newEntry(closeAnswer(entry.message), now, { createdAt: entry.createdAt, ...fields }),
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
  let stopped: StoredRun | undefined;
  // A run of this process stops even if the store is unreachable.
  if (runId === undefined) context.runs.abortAll(location.threadId, "stopped");
  else context.runs.abort(location.threadId, runId, "stopped");
  try {
    await writeChat<M>(context, location, {
      method: "stop",
      limit: 0,
      options: {},
      intent: null,
      plan: (_view, { run }, now) => {
        const isMeant = run && (runId === undefined || run.id === runId);
        stopped = isMeant && isRunning(run, now, context.leaseMs) ? run : undefined;
        context.runs.abort(location.threadId, stopped?.id, "stopped");
        return stopped && !stopped.stop ? { head: { run: { ...stopped, stop: true } } } : undefined;
      },
    });
  } catch (error) {
    if (!StoreError.is(error, "NOT_FOUND")) throw error;
  }
  return stopped !== undefined;
}
