import { jsonCodec, StoreError } from "@scrollback/store-core";
import { checkValue } from "@scrollback/store-core/internal";
import type { Chat, ChatEntry, Identified } from "../chat.ts";
import { checkRunResult, messageProblem } from "../checks.ts";
import { ChatView } from "../read/chat-view.ts";
import type { ChatContext } from "../read/context.ts";
import { hasContent, isSameMessage, newEntry, publicEntry } from "../read/entries.ts";
import { type Head, isNear } from "../read/head.ts";
import type { ChatLocation } from "../threads.ts";
import {
  commitPlan,
  missingChat,
  type Plan,
  untilReachable,
  type Written,
  whileOutdated,
} from "../write/write-chat.ts";
import { type AbortCause, abortReason, isRefusal, type RunResult } from "./run-endings.ts";

/** The data of a new run. */
export interface RunStart<M> {
  readonly id: string;
  readonly messageId: string;
  /** The operation id of the call that began the run, if it had one. */
  readonly operationId: string | undefined;
  readonly written: Written<M>;
}

/** The changes of one write of a run. */
interface RunPlan<M extends Identified> extends Plan<M> {
  /** The text of the new answer; absent if it stays. */
  readonly answerText?: string;
}

type MakePlan<M extends Identified> = (view: ChatView<M>, head: Head, now: number) => Promise<RunPlan<M>>;

/** An answer that this process is generating. The chat's head contains its lease, which heartbeats renew. */
export class ActiveRun<M extends Identified> {
  readonly id: string;
  /** The id of the saved answer. */
  readonly messageId: string;
  /** The operation id of the call that began the run. */
  readonly operationId: string | undefined;
  /** The chat at the start of the run. */
  readonly chat: Chat;
  readonly entries: readonly ChatEntry<M>[];
  /** Settles when the run has ended. */
  readonly ended: Promise<void>;
  readonly #context: ChatContext<M>;
  readonly #location: ChatLocation;
  readonly #controller = new AbortController();
  readonly #beat: NodeJS.Timeout;
  readonly #finish: () => void;
  #view: ChatView<M>;
  /** Writes run one after the other. */
  #writing: Promise<unknown> = Promise.resolve();
  #isBeating = false;
  #latest: M | undefined;
  #updates = 0;
  /** The number of updates at the last save. */
  #savedUpdates = 0;
  #isStored: boolean;
  /** The text of the answer in the view, whose message the caller may have changed in place; undefined: as its message. */
  #answerText: string | undefined;
  #end: Promise<void> | undefined;

  /** Starts the heartbeats. */
  constructor(context: ChatContext<M>, location: ChatLocation, start: RunStart<M>) {
    const { id, messageId, operationId, written } = start;
    this.#context = context;
    this.#location = location;
    this.id = id;
    this.messageId = messageId;
    this.operationId = operationId;
    this.chat = written.chat;
    this.entries = written.entries.map(publicEntry);
    const stored = written.entries.findLast(({ message }) => message.id === messageId);
    this.#isStored = stored !== undefined;
    this.#answerText = stored && jsonCodec.encode(stored.message);
    this.#view = ChatView.known<M>(context.stores, location.threadId, written);
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.#finish = ended.resolve;
    this.#beat = setInterval(() => void this.#onBeat(), context.beatMs);
    this.#beat.unref?.();
  }

  /** Aborted when the run must end: by `stop`, a takeover, a deletion. The reason is an error whose `cause` names which. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts {@link ActiveRun.signal}. Returns false if the run is ending already. */
  abort(cause: AbortCause): boolean {
    const isEnding = this.#end !== undefined;
    if (!this.signal.aborted) this.#controller.abort(abortReason(cause));
    // Nothing more can be written.
    if (cause === "deleted" || cause === "taken-over") this.#close();
    return !isEnding;
  }

  /**
   * Sets the answer that the next heartbeat saves, under {@link ActiveRun.messageId}. Does no I/O and no copy: call it again after
   * each change, with a new object or the same one. An answer that the store refuses is reported to `onError`, and the run goes on.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a value without an id or a role.
   */
  update(message: M): void {
    checkValue("update", "message", messageProblem, message);
    this.#latest = message;
    this.#updates++;
  }

  /**
   * Saves the last value of `update` now.
   *
   * @throws StoreError `CONFLICT` after a takeover, `NOT_FOUND` after a deletion; `UNAVAILABLE`, `retryable`, if other writers
   * were first too often.
   */
  async save(): Promise<void> {
    await this.#write(async (view, head, now) => {
      const entries = await this.#placed(view, this.#latest, { status: "partial" }, now);
      return { ...entries, ...renewed(head, now) };
    });
  }

  /**
   * Saves the answer and releases the lease, in one commit. Retries for `leaseMs` while the store is unreachable. A second call
   * has no further effect; after a failure, call it again.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid result, or an answer that cannot be stored, `TOO_LARGE` for one that is too
   *   large: the run goes on and keeps its lease. `CONFLICT` after a takeover, `NOT_FOUND` after a deletion.
   */
  async end(result: RunResult<M>): Promise<void> {
    checkRunResult(result, this.#context.check);
    this.#end ??= this.#finishWith(result).catch((error) => {
      this.#end = undefined;
      throw error;
    });
    await this.#end;
  }

  async #finishWith({ message, status, error }: RunResult<M>): Promise<void> {
    const answer = [message, this.#latest].find((one) => one !== undefined && hasContent(one));
    const closed = answer && (status === "complete" ? answer : this.#context.closeAnswer(answer));
    const fields = { status, ...(error !== undefined && { error }) };
    const own = closed && { ...closed, id: this.messageId };
    const isOwn = ({ message, status: saved }: ChatEntry<M>) =>
      saved === status && own !== undefined && isSameMessage(message, own);
    // The reply to an earlier attempt was lost.
    const isDone = ({ head, entries }: ChatView<M>) =>
      own === undefined ? head?.run === undefined : head?.run?.id !== this.id && entries.some(isOwn);
    const plan: MakePlan<M> = async (view, _head, now) => {
      const entries = await this.#placed(view, closed, fields, now);
      return { ...entries, head: { run: undefined }, isActive: closed !== undefined };
    };
    try {
      await untilReachable(
        (made) => this.#write(plan, made > 0 ? isDone : undefined),
        this.#context.leaseMs,
        (error) => this.#context.onError(error, "end"),
      );
    } catch (error) {
      if (!isRefusal(error)) this.#close();
      throw error;
    }
    this.#close();
  }

  /** The entries, with the answer at its position. */
  async #placed(
    view: ChatView<M>,
    answer: M | undefined,
    fields: Partial<ChatEntry<M>>,
    now: number,
  ): Promise<RunPlan<M>> {
    const isAnswer = ({ message }: ChatEntry<M>) => message.id === this.messageId;
    const index = this.#isStored ? await view.findIndex(isAnswer) : view.entries.findLastIndex(isAnswer);
    const before = view.entries[index];
    if (!before && this.#isStored) {
      this.abort("removed");
      return {};
    }
    if (answer === undefined) {
      if (before?.status !== "partial" || fields.status === "partial") return {};
      const message =
        fields.status === "complete" ? before.message : this.#context.closeAnswer(before.message);
      return { entries: view.entries.with(index, { ...before, ...fields, message, updatedAt: now }) };
    }
    const message = this.#context.files.extract(
      this.#location,
      answer.id === this.messageId ? answer : { ...answer, id: this.messageId },
    );
    const answerText = jsonCodec.encode(message);
    const isKept =
      before?.status === fields.status &&
      before?.error === fields.error &&
      answerText === (this.#answerText ?? jsonCodec.encode(before?.message));
    if (isKept) return {};
    const entry = newEntry(message, now, { ...fields, createdAt: before?.createdAt ?? now });
    return before
      ? { answerText, entries: view.entries.with(index, entry) }
      : { answerText, entries: [...view.entries, entry], isActive: true };
  }

  async #onBeat(): Promise<void> {
    // A beat behind the end would find no lease.
    if (this.#isBeating || this.#end) return;
    this.#isBeating = true;
    try {
      const { now, leaseMs } = this.#context;
      const beatAt = this.#view.head?.run?.beatAt ?? 0;
      if (this.#updates !== this.#savedUpdates || !isNear(beatAt, now(), leaseMs / 3))
        await this.#saveOrRenew();
      else await this.#look();
    } catch (error) {
      // The signal reports this already, so it is not an error.
      const isOver = StoreError.is(error, "CONFLICT") || StoreError.is(error, "NOT_FOUND");
      if (!isOver) this.#context.onError(error, "beat");
    } finally {
      this.#isBeating = false;
    }
  }

  /** Saves the answer. If the store refuses it, reports this and keeps the lease: the end may be storable. */
  async #saveOrRenew(): Promise<void> {
    try {
      await this.save();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#context.onError(error, "beat");
      await this.#write(async (_view, head, now) => renewed(head, now));
    }
  }

  /** Checks whether the run must end. */
  async #look(): Promise<void> {
    const { stores } = this.#context;
    const { head } = await ChatView.read<M>(stores, this.#location.threadId, { limit: 0 });
    this.#assertOwn(head);
  }

  /** @throws StoreError `NOT_FOUND`; `CONFLICT` if the run is no longer the chat's run. */
  #assertOwn(head: Head | undefined): asserts head is Head {
    if (!head || head.incarnation !== this.#view.head?.incarnation) {
      this.abort("deleted");
      throw missingChat("run");
    }
    if (head.run?.id !== this.id) {
      this.abort("taken-over");
      throw new StoreError(
        "CONFLICT",
        "run: another run has taken the place of this one; read the chat for what is stored of its answer",
      );
    }
    if (head.run.stop) this.abort("stopped");
  }

  /** Commits a change of the run, after the previous one. */
  #write(plan: MakePlan<M>, isDone = (_: ChatView<M>) => false): Promise<void> {
    const { stores, now } = this.#context;
    const { threadId } = this.#location;
    const attempt = async (lost: number) => {
      if (lost > 0) {
        const fresh = await ChatView.read<M>(stores, threadId, { limit: 64 });
        if (fresh.head?.incarnation === this.#view.head?.incarnation && isDone(fresh)) return;
        this.#assertOwn(fresh.head);
        this.#view = fresh;
        this.#answerText = undefined;
      }
      const { head } = this.#view;
      this.#assertOwn(head);
      const time = now();
      const updates = this.#updates;
      const options = { method: "run", now: time, operation: undefined, signal: undefined };
      const made = await plan(this.#view, head, time);
      const written = await commitPlan(this.#context, this.#location, this.#view, head, made, options);
      this.#view = ChatView.known<M>(stores, threadId, written);
      this.#isStored ||= written.entries.some(({ message }) => message.id === this.messageId);
      this.#answerText = made.answerText ?? this.#answerText;
      this.#savedUpdates = updates;
    };
    // A conflict would say that the run is over.
    const exhausted = (cause: unknown, attempts: number) =>
      new StoreError("UNAVAILABLE", `run: other writers committed first ${attempts} times`, {
        retryable: true,
        cause,
      });
    const written = this.#writing.then(() =>
      whileOutdated("run", attempt, { isFirstCached: true, exhausted }),
    );
    this.#writing = written.catch(() => undefined);
    return written;
  }

  #close(): void {
    clearInterval(this.#beat);
    this.#finish();
  }
}

/** The change of a heartbeat. */
function renewed({ run }: Head, beatAt: number): Pick<Plan<never>, "head"> {
  return { head: { run: run && { ...run, beatAt } } };
}
