import type {
  GetSnapshotOptions,
  SessionSnapshot,
  SessionSnapshotInput,
  SessionStore,
  SessionStoreOptions,
  SnapshotMutator,
} from "@genkit-ai/ai/session";
import { GenkitError } from "@genkit-ai/core";
import { Records } from "@scrollback/collections";
import { chatMessageTraits, retryOnConflict, StoreError, type StoreFactory } from "@scrollback/store-core";
import { type Check, checkOptions, hasMethods, invalid, isId, isObject } from "@scrollback/store-core/driver";
import { checkValue, isFunction, reporter, storedCopy } from "@scrollback/store-core/internal";
import { checkStoreOptions, type ScrollbackSessionStoreOptions } from "./options.ts";
import { leavesOf, newestOf, SessionLog, type SnapshotNote } from "./session-log.ts";
import { SnapshotWatch } from "./snapshot-watch.ts";

/** The values are checked where they are used, so that errors are those of Genkit's own stores. */
const known: Check = () => undefined;
/** An unknown option is refused: a misspelled `context` would select another scope. */
const callChecks = { context: known };
const lookupChecks = { snapshotId: known, sessionId: known, ...callChecks };

/** The maximum size of one commit. */
const MAX_SNAPSHOT_BYTES = 64 * 1_024 ** 2;

/**
 * The session store of Genkit's agents over any Scrollback store. A snapshot is a record. A save is a compare-and-set: if two
 * processes save one snapshot, the second one's mutator gets the result of the first one. A session is a log of its snapshots.
 *
 * Rejects with the `StoreError`s of the stores, and with Genkit's `INVALID_ARGUMENT` and `FAILED_PRECONDITION` in the same cases
 * as Genkit's own stores.
 *
 * @example
 * const store = new ScrollbackSessionStore({ stores: await openStores("sqlite:chats.db") });
 * const guide = ai.defineAgent({ name: "guide", system: "You know every tram.", store });
 */
export class ScrollbackSessionStore<S = unknown> implements SessionStore<S> {
  readonly #options: ScrollbackSessionStoreOptions;
  readonly #stores: StoreFactory;
  readonly #snapshots: Records<SessionSnapshot<S>>;
  /** Names and deletes the threads of logs. */
  readonly #logs: Records;
  readonly #watches = new Map<string, Set<SnapshotWatch<S>>>();

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim. */
  constructor(options: ScrollbackSessionStoreOptions) {
    checkStoreOptions(options);
    this.#options = { ...options };
    this.#snapshots = new Records({ stores: options.stores, prefix: "genkit:snapshot" });
    this.#logs = new Records({ stores: options.stores, prefix: "genkit:session" });
    this.#stores = options.stores.withTraits(chatMessageTraits);
  }

  /** Returns a snapshot by its id, or the newest leaf of a session; undefined if it does not exist. */
  async getSnapshot(options: GetSnapshotOptions): Promise<SessionSnapshot<S> | undefined> {
    checkOptions("getSnapshot", options ?? null, lookupChecks);
    const { snapshotId, sessionId, context } = options;
    if (!snapshotId === !sessionId)
      throw new GenkitError({
        status: "INVALID_ARGUMENT",
        message: "getSnapshot requires exactly one of 'snapshotId' or 'sessionId'",
      });
    if (sessionId) return await this.#leafOf(sessionId, context);
    return (await this.#snapshots.get(this.#key(snapshotId as string, context)))?.value;
  }

  /**
   * Reads a snapshot, changes it by `mutator`, and writes it if it was not written in between; otherwise starts again.
   * `mutator` may be called several times.
   *
   * @returns the snapshot's id, or null if `mutator` returned null.
   */
  async saveSnapshot(
    snapshotId: string | undefined,
    mutator: SnapshotMutator<S>,
    options: SessionStoreOptions = {},
  ): Promise<string | null> {
    checkValue("saveSnapshot", "mutator", isFunction, mutator);
    checkOptions("saveSnapshot", options, callChecks);
    const { context } = options;
    let noted: Noted | undefined;
    return await retryOnConflict(async () => {
      const current = snapshotId ? await this.#snapshots.get(this.#key(snapshotId, context)) : undefined;
      const changed = mutator(current?.value);
      if (changed === null) return null;
      checkValue("saveSnapshot", "what mutator returns", isObject, changed);
      if (hasMethods("then")(changed) === undefined)
        invalid("saveSnapshot: mutator must not return a promise");
      const id = snapshotId || changed.snapshotId || crypto.randomUUID();
      const value = storedCopy("saveSnapshot: snapshot", { ...changed, snapshotId: id });
      noted = await this.#note(value, current, context, noted);
      const key = this.#key(id, context);
      // A snapshot without an id replaces the existing one, as in Genkit's own stores.
      const condition = snapshotId ? { expectedRevision: current?.revision ?? null } : {};
      const revision = await this.#snapshots.set(key, value, condition);
      const watches = this.#watches.get(this.#snapshots.threadId(key)) ?? [];
      for (const watch of watches) watch.tell({ value, revision });
      await noted?.log.note(noted.note);
      return id;
    });
  }

  /**
   * Calls back with the snapshot, if it exists, and after each change: at once for changes by this store, and for
   * changes by other processes after a hint of the stores, or within `pollIntervalMs`. A poll reads one revision, and the snapshot if the revision has
   * changed.
   *
   * @returns a function that ends the callbacks.
   */
  onSnapshotStateChange(
    snapshotId: string,
    callback: (snapshot: SessionSnapshot<S>) => void,
    options: SessionStoreOptions = {},
  ): () => void {
    checkValue("onSnapshotStateChange", "callback", isFunction, callback);
    checkOptions("onSnapshotStateChange", options, callChecks);
    const key = this.#key(snapshotId, options.context);
    const threadId = this.#snapshots.threadId(key);
    const thread = this.#stores.open(threadId);
    const watch = new SnapshotWatch<S>({
      pollIntervalMs: this.#options.pollIntervalMs,
      watch: (onHint) => this.#stores.watch(threadId, onHint),
      readRevision: async () => (await thread.read({ limit: 0 })).revision,
      read: () => this.#snapshots.get(key),
      callback,
      onError: reporter(this.#options.onError),
    });
    const watches = this.#watches.get(threadId) ?? new Set();
    this.#watches.set(threadId, watches.add(watch));
    return () => {
      watch[Symbol.dispose]();
      watches.delete(watch);
      if (watches.size === 0) this.#watches.delete(threadId);
    };
  }

  /**
   * Deletes a session with all its snapshots. Nothing of them remains in the backend. If the process dies during the
   * call, repeating it deletes the rest.
   */
  async deleteSession(sessionId: string, options: SessionStoreOptions = {}): Promise<void> {
    checkOptions("deleteSession", options, callChecks);
    const { context } = options;
    const key = this.#key(sessionId, context);
    await retryOnConflict(async () => {
      const { notes, revision } = await this.#logOf(sessionId, context).read();
      // The loop includes the ids that it adds: the ancestors of the snapshots that the log still names.
      const ids = new Set(notes.keys());
      const found = new Set<string>();
      for (const id of ids) {
        const snapshot = (await this.#snapshots.get(this.#key(id, context)))?.value;
        const parentId = snapshot?.parentId ?? notes.get(id)?.parentId;
        if (parentId !== undefined) ids.add(parentId);
        if (snapshot && sessionOf(snapshot) === sessionId) found.add(id);
      }
      // Oldest first, so that after a failure the remaining snapshots can be found from the leaves.
      for (const id of [...found].reverse()) await this.#snapshots.delete(this.#key(id, context));
      await this.#logs.delete(key, revision === null ? {} : { expectedRevision: revision });
    });
  }

  async #leafOf(
    sessionId: string,
    context: SessionStoreOptions["context"],
  ): Promise<SessionSnapshot<S> | undefined> {
    const log = this.#logOf(sessionId, context);
    const content = await log.read();
    await log.shorten(content);
    const { notes } = content;
    const read = async ({ id }: SnapshotNote) => {
      const snapshot = (await this.#snapshots.get(this.#key(id, context)))?.value;
      if (snapshot && sessionOf(snapshot) === sessionId) return snapshot;
      // The snapshot was noted but not written, or has expired.
      notes.delete(id);
      return undefined;
    };
    while (notes.size > 0) {
      const leaves = leavesOf(notes);
      const newest = newestOf(leaves);
      if (!newest) throw failedPrecondition(sessionId, "has no leaf snapshot (cyclic history)");
      if (leaves.length > 1 && this.#options.rejectBranchingSessions) {
        const found = (await Promise.all(leaves.map(read))).filter((one) => one !== undefined);
        if (found.length > 1) throw failedPrecondition(sessionId, "has branching snapshots");
        continue;
      }
      const snapshot = await read(newest);
      if (snapshot) return snapshot;
    }
    return undefined;
  }

  /**
   * Notes a snapshot in its session's log before it is written. The write makes it visible.
   *
   * @returns the note; undefined for a snapshot without a session, or if the session has it already.
   */
  async #note(
    snapshot: SessionSnapshot<S>,
    current: { readonly value: SessionSnapshot<S> } | undefined,
    context: SessionStoreOptions["context"],
    earlier: Noted | undefined,
  ): Promise<Noted | undefined> {
    const sessionId = sessionOf(snapshot);
    if (sessionId === undefined) return undefined;
    const { snapshotId: id, parentId, createdAt } = snapshot;
    const isKnown =
      current !== undefined &&
      sessionOf(current.value) === sessionId &&
      current.value.parentId === parentId &&
      current.value.createdAt === createdAt;
    const log = this.#logOf(sessionId, context);
    if (isKnown) {
      // A log must not expire before its snapshots.
      if (this.#options.stores.settings.ttlMs !== undefined) await log.touch();
      return undefined;
    }
    const text = JSON.stringify([sessionId, id, parentId, createdAt]);
    if (earlier?.text === text) return earlier;
    // Runs before the log names the snapshot.
    this.#checkSize(snapshot);
    const note = { id, ...(parentId !== undefined && { parentId }), createdAt };
    await log.note(note);
    return { text, note, log };
  }

  /** @throws StoreError `INVALID_ARGUMENT`, `TOO_LARGE`. */
  #checkSize(snapshot: SessionSnapshot<S>): void {
    let size = 0;
    try {
      size = this.#stores.metadataSize(snapshot);
    } catch (error) {
      // A limit of the codec applies to each piece of a record.
      if (!StoreError.is(error, "TOO_LARGE")) throw error;
    }
    if (size > MAX_SNAPSHOT_BYTES)
      throw new StoreError("TOO_LARGE", "saveSnapshot: a snapshot must have at most 64 MiB");
  }

  #logOf(sessionId: string, context: SessionStoreOptions["context"]): SessionLog {
    return new SessionLog(this.#stores.open(this.#logs.threadId(this.#key(sessionId, context))));
  }

  #key(id: string, context: SessionStoreOptions["context"]): string[] {
    const problem = isId(id);
    if (problem) invalid(`ScrollbackSessionStore: a snapshotId or sessionId ${problem}`);
    const { scope } = this.#options;
    if (!scope) return [id];
    const name = scope(context);
    const scopeProblem = isId(name);
    if (scopeProblem) invalid(`ScrollbackSessionStore: what scope returns ${scopeProblem}`);
    return [name, id];
  }
}

/** A note that a save has made. */
interface Noted {
  /** Equal for equal notes of one session. */
  readonly text: string;
  readonly note: SnapshotNote;
  readonly log: SessionLog;
}

function sessionOf<S>(snapshot: SessionSnapshotInput<S>): string | undefined {
  return snapshot.sessionId ?? snapshot.state?.sessionId;
}

function failedPrecondition(sessionId: string, problem: string): GenkitError {
  const message = `Session '${sessionId}' ${problem}. Resume by snapshotId instead.`;
  return new GenkitError({ status: "FAILED_PRECONDITION", message });
}
