import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type AgentInputItem,
  MemorySession,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransactionArgs,
  type SessionHistoryTransactionAwareSession,
  UserError,
} from "@openai/agents-core";
import { type MessageStore, retryOnConflict, type StoreFactory } from "@scrollback/store-core";
import { invalid, isObject } from "@scrollback/store-core/driver";
import { checkValue, pairedHistory, reportUnpaired, storedCopy } from "@scrollback/store-core/internal";
import { itemHistoryTraits, itemStores, type ScrollbackSessionOptions, threadOf } from "./items.ts";
import { findApplied, parseLedger, withApplied } from "./ledger.ts";
import { applyTransaction, checkTransaction } from "./transaction.ts";

/**
 * A thread of any Scrollback store as a session of the OpenAI Agents SDK: each item is a message. Behaves like the SDK's
 * `MemorySession`, in any number of processes, and each change is one atomic commit.
 *
 * Rejects with the `StoreError`s of the stores, and with the SDK's `UserError` in the same cases as `MemorySession`.
 *
 * @example
 * const session = new ScrollbackSession({ stores: await openStores("sqlite:chats.db"), sessionId: "ada" });
 * await run(agent, "Which tram goes to the harbour?", { session });
 */
export class ScrollbackSession
  implements SessionHistoryTransactionAwareSession, SessionHistoryRewriteAwareSession
{
  /** Opens this session in other processes. */
  readonly sessionId: string;
  readonly #stores: StoreFactory<AgentInputItem>;
  readonly #items: MessageStore<AgentInputItem>;
  /** Remembers what was reported, for all its sessions. */
  readonly #given: ScrollbackSessionOptions["stores"];

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option. */
  constructor(options: ScrollbackSessionOptions) {
    const { sessionId = randomUUID() } = Object(options) as Partial<ScrollbackSessionOptions>;
    this.sessionId = sessionId;
    this.#stores = itemStores("ScrollbackSession", { ...options, sessionId: this.sessionId });
    this.#items = this.#stores.open(threadOf(this.sessionId));
    this.#given = options.stores;
  }

  /** The id of the thread with the items. `stores.deleteThread(session.threadId)` deletes all data of the session. */
  get threadId(): string {
    return this.#items.threadId;
  }

  async getSessionId(): Promise<string> {
    return this.sessionId;
  }

  /**
   * Returns all items, or at most `limit`, oldest first: those that trimming to `maxMessages: limit` would keep. Returns an empty list
   * for a limit of 0 or less. Leaves out what OpenAI refuses: a tool's result without its call, and a call without its result that a
   * user's message follows. A warning of the process reports this once a session.
   */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit === undefined) return this.paired(await this.#items.listMessages());
    if (!Number.isInteger(limit)) invalid("getItems: limit must be an integer");
    if (limit <= 0) return await this.#items.listMessages({ limit: 0 });
    const { maxMessages = limit } = this.#stores.settings;
    const newest = this.#stores.open(this.threadId, { maxMessages: Math.min(limit, maxMessages) });
    return this.paired(await newest.listMessages({ limit }));
  }

  /** The items that OpenAI accepts. */
  protected paired(items: AgentInputItem[]): AgentInputItem[] {
    const { messages, unpaired } = pairedHistory(items, itemHistoryTraits);
    reportUnpaired({ scope: this.#given, threadId: this.threadId }, unpaired);
    return messages;
  }

  /** Appends the items contiguously, all or none. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    await this.#items.addMessages(items);
  }

  /** Removes and returns the newest item. Concurrent callers get different items. */
  async popItem(): Promise<AgentInputItem | undefined> {
    return await this.#items.popMessage();
  }

  /** Removes all items, and forgets the applied transactions. */
  async clearSession(): Promise<void> {
    await this.#items.clear();
  }

  /** Replaces all items in one commit, and still remembers the applied transactions. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    await this.#items.replaceMessages(items);
  }

  /** Replaces function calls by others. Items before the first changed one are not written again. */
  async applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> {
    checkMutations(args);
    const mutations = storedCopy("applyHistoryMutations: mutations", args.mutations);
    if (mutations.length === 0) return;
    await retryOnConflict(async () => {
      const { entries, revision } = await this.#items.read();
      const memory = new MemorySession({ initialItems: entries.map(({ message }) => message) });
      await memory.applyHistoryMutations({ mutations });
      const mutated = await memory.getItems();
      const first = entries.findIndex(({ message }, index) => !isDeepStrictEqual(message, mutated[index]));
      const changed = entries[first];
      const last = entries.at(-1);
      if (!changed || !last) return;
      // Computed from the numbers, because corrupt records may have been skipped.
      const drop = last.sequence - changed.sequence + 1;
      await this.#items.commit({ drop, append: mutated.slice(first) }, { expectedRevision: revision });
    });
  }

  /**
   * Applies a change once: the change and its operation id are one commit. The newest 512 ids of a session are remembered.
   *
   * @throws UserError for an invalid transaction, an id that was used for another transaction, and a suffix that does not
   *   match. Nothing is changed then.
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const checked = await checkTransaction(args);
    const { operationId, digest, suffixLength } = checked;
    await retryOnConflict(async () => {
      const { entries, revision, metadata } = await this.#items.read({ limit: suffixLength });
      const ledger = parseLedger(this.threadId, metadata);
      const applied = findApplied(ledger, operationId);
      if (applied === digest) return;
      if (applied !== undefined)
        throw new UserError("Session history operation was already applied with a different transaction.");
      const newest = entries.map(({ message }) => message);
      const append = await applyTransaction(newest, checked);
      const change = { drop: suffixLength, append, metadata: withApplied(ledger, operationId, digest) };
      await this.#items.commit(change, { expectedRevision: revision });
    });
  }
}

/** @throws StoreError `INVALID_ARGUMENT`. */
function checkMutations(args: unknown): void {
  const { mutations } = Object(args) as { mutations?: unknown };
  if (!Array.isArray(mutations)) invalid("applyHistoryMutations: mutations must be an array");
  for (const [index, mutation] of mutations.entries())
    checkValue("applyHistoryMutations", `mutations[${index}]`, isObject, mutation);
}
