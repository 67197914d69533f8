import { envelope, Lists, type Member, Records } from "@scrollback/collections";
import type { ListItem } from "@scrollback/collections/internal";
import {
  type ChatMessage,
  chatMessageTraits,
  type MessageStore,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { type Check, checkOptions, invalid, isId, isObject } from "@scrollback/store-core/driver";
import {
  checkValue,
  isFunction,
  isStoreFactory,
  reporter,
  storedCopy,
} from "@scrollback/store-core/internal";
import { memberOf, type Told, type TranscriptHead } from "./head.ts";
import { checkKey, partsOf, sessionsOf, subpathsOf, TRANSCRIPTS } from "./keys.ts";
import type {
  FoldSessionSummary,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
} from "./session-store.ts";
import { Transcript } from "./transcript.ts";

/** The number of transcripts whose uuids are cached. */
const CACHE_SIZE = 32;
/** The maximum sizes of one message and of one commit. */
const MAX_ENTRY_BYTES = 16 * 1_024 ** 2;
const MAX_BATCH_BYTES = 64 * 1_024 ** 2;
/** The number of transcripts that a list reads concurrently. */
const READS = 16;

/** Options of {@link ScrollbackSessionStore}. */
export interface ScrollbackSessionStoreOptions {
  /** A store factory of any backend and any message type, without `maxMessages` and `ttlMs`. The factory stays open. */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** The function of this name that the SDK exports. With it, the SDK lists sessions without loading them. */
  readonly foldSessionSummary?: FoldSessionSummary | undefined;
  /** Called with errors of background work: lists, which are told again. Default: a warning of the process. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const checks: Record<keyof ScrollbackSessionStoreOptions, Check> = {
  stores: isStoreFactory("entries"),
  foldSessionSummary: isFunction,
  onError: isFunction,
};

/**
 * The session store of the Claude Agent SDK over any Scrollback store. An entry is stored once, even if several processes
 * append it repeatedly. Entries without uuid are stored each time.
 *
 * @example
 * await using sessionStore = new ScrollbackSessionStore({ stores, foldSessionSummary });
 * for await (const message of query({ prompt: "Which tram?", options: { sessionStore } })) console.log(message);
 */
export class ScrollbackSessionStore implements AsyncDisposable {
  readonly #stores: StoreFactory<ChatMessage>;
  /** Names the threads of transcripts. */
  readonly #threads: Records;
  readonly #lists: Lists<Told, TranscriptHead>;
  readonly #onError: (error: unknown) => void;
  readonly #fold: FoldSessionSummary | undefined;
  /** In order of use, the most recently used last. */
  readonly #transcripts = new Map<string, Transcript>();

  /** The summaries of a project's sessions; absent without `foldSessionSummary`, for the SDK to load the sessions instead. */
  readonly listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;

  /**
   * Does no I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim or expire; `UNSUPPORTED` for a backend
   *   without an index.
   */
  constructor(options: ScrollbackSessionStoreOptions) {
    checkOptions("ScrollbackSessionStore", options, checks, ["stores"]);
    const { stores, foldSessionSummary } = options;
    const onError = reporter(options.onError);
    if (stores.settings?.ttlMs !== undefined)
      invalid(
        "ScrollbackSessionStore: stores with ttlMs lose subagents before their session; give a factory without it",
      );
    this.#stores = stores.withTraits(chatMessageTraits);
    this.#threads = new Records({ stores, prefix: TRANSCRIPTS });
    this.#lists = new Lists({ stores: this.#stores, onError });
    this.#onError = onError;
    this.#fold = foldSessionSummary;
    if (foldSessionSummary)
      this.listSessionSummaries = (projectKey) => this.#summaries(projectKey, foldSessionSummary);
  }

  /** Adds entries to a transcript, all or none, in the order of the calls. Skips entries whose uuid the transcript has. */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    checkKey("append", key);
    if (!Array.isArray(entries)) invalid("append: entries must be an array");
    for (const entry of entries) checkValue("append", "each entry", isObject, entry);
    if (entries.length === 0) return;
    // Copies, because an append may wait for others.
    const copies = entries.map((entry, index) => storedCopy(`append: entries[${index}]`, entry));
    // Runs before the list gets an entry, which contains the session's name.
    checkSizes(copies.map((entry) => this.#stores.metadataSize(envelope("user", entry))));
    await this.#transcript(key).append(copies);
  }

  /** Returns the entries of a transcript; null for a missing one. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    checkKey("load", key);
    return (await this.#transcript(key).load()) ?? null;
  }

  /** Returns the sessions of a project that have a main transcript, the most recently written first. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    checkProject("listSessions", projectKey);
    const listed = await this.#list(sessionsOf(projectKey), sessionKeyOf(projectKey));
    return listed.map(({ member: { key: sessionId }, order: mtime }) => ({ sessionId, mtime }));
  }

  /** Returns the subpaths of a session that have a transcript, sorted. */
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const session = { projectKey: key?.projectKey, sessionId: key?.sessionId };
    checkKey("listSubkeys", session);
    const listed = await this.#list(subpathsOf(session), subpathKeyOf(session));
    return listed.map(({ member: { key: subpath } }) => subpath).sort();
  }

  /** Deletes one transcript of a subagent, or a session with all its transcripts. Does nothing for a missing one. */
  async delete(key: SessionKey): Promise<void> {
    checkKey("delete", key);
    if (key.subpath === undefined) {
      // Runs before the main transcript: if the process dies, the session is still listed and can be deleted again.
      const keyOf = subpathKeyOf(key);
      await this.#lists.removeAll([subpathsOf(key)], (one) => this.#delete(keyOf(one.key)), undefined);
    }
    await this.#delete(key);
  }

  /** Returns when the lists say all that this store has appended. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#lists.flush();
  }

  /** The same as {@link ScrollbackSessionStore.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  async #delete(key: SessionKey): Promise<void> {
    const member = this.#member(key);
    await this.#lists.remove(member);
    this.#transcripts.get(member.threadId)?.forget();
  }

  #open(key: SessionKey): MessageStore {
    return this.#stores.open(this.#threads.threadId(partsOf(key)));
  }

  #member(key: SessionKey): Member<Told, TranscriptHead> {
    return memberOf(key, this.#open(key));
  }

  #transcript(key: SessionKey): Transcript {
    const store = this.#open(key);
    const { threadId } = store;
    const transcript =
      this.#transcripts.get(threadId) ??
      new Transcript({
        ...{ key: { ...key }, store, lists: this.#lists },
        ...{ foldSessionSummary: this.#fold, onError: this.#onError },
      });
    this.#transcripts.delete(threadId);
    this.#transcripts.set(threadId, transcript);
    if (this.#transcripts.size > CACHE_SIZE) {
      // A transcript with a pending call stays cached, because it keeps the order of its calls.
      const idle = [...this.#transcripts].find(([, one]) => one !== transcript && one.isIdle);
      if (idle) this.#transcripts.delete(idle[0]);
    }
    return transcript;
  }

  async #list(index: string, keyOf: (key: string) => SessionKey): Promise<ListItem<Told, TranscriptHead>[]> {
    const memberOf = ({ key }: Pick<Member<Told>, "key">) => this.#member(keyOf(key));
    const listed: ListItem<Told, TranscriptHead>[] = [];
    for await (const item of this.#lists.iterate({ index, direction: "down", memberOf })) listed.push(item);
    return listed;
  }

  async #summaries(projectKey: string, fold: FoldSessionSummary): Promise<SessionSummaryEntry[]> {
    checkProject("listSessionSummaries", projectKey);
    const keyOf = sessionKeyOf(projectKey);
    const listed = await this.#list(sessionsOf(projectKey), keyOf);
    const summaries: (SessionSummaryEntry | undefined)[] = [];
    for (let start = 0; start < listed.length; start += READS) {
      const some = listed.slice(start, start + READS).map(async ({ member, order: mtime, told }) => {
        const { key: sessionId } = member;
        if (told?.summary) return { sessionId, mtime, data: told.summary };
        return await this.#summaryOf(keyOf(sessionId), member, fold);
      });
      summaries.push(...(await Promise.all(some)));
    }
    return summaries.filter((summary) => summary !== undefined);
  }

  /** Returns the summary of a session that was damaged, or written without the SDK's function. */
  async #summaryOf(
    key: SessionKey,
    member: Member<Told, TranscriptHead>,
    fold: FoldSessionSummary,
  ): Promise<SessionSummaryEntry | undefined> {
    const found = await member.read();
    if (!found.listed) return undefined;
    const { sessionId } = key;
    const { mtime, summary } = found.head;
    if (summary) return { sessionId, mtime, data: summary };
    return fold(undefined, key, (await this.load(key)) ?? [], { mtime });
  }
}

const sessionKeyOf =
  (projectKey: string) =>
  (sessionId: string): SessionKey => ({ projectKey, sessionId });

const subpathKeyOf =
  ({ projectKey, sessionId }: SessionKey) =>
  (subpath: string): SessionKey => ({ projectKey, sessionId, subpath });

/** @throws StoreError `TOO_LARGE`. */
function checkSizes(sizes: readonly number[]): void {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.some((size) => size > MAX_ENTRY_BYTES) || total > MAX_BATCH_BYTES)
    throw new StoreError("TOO_LARGE", "append: an entry must have at most 16 MiB, all together 64 MiB");
}

/** @throws StoreError `INVALID_ARGUMENT`. */
function checkProject(method: string, projectKey: string): void {
  checkValue(method, "projectKey", isId, projectKey);
}
