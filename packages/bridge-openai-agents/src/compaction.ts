/**
 * A session of the OpenAI Agents SDK that is compacted by the Responses API, over any Scrollback store.
 *
 * @packageDocumentation
 */

import {
  type AgentInputItem,
  MemorySession,
  type OpenAIResponsesCompactionArgs,
  type OpenAIResponsesCompactionOwnershipAwareSession,
  type OpenAIResponsesCompactionResult,
} from "@openai/agents-core";
import {
  OpenAIResponsesCompactionSession,
  type OpenAIResponsesCompactionSessionOptions,
} from "@openai/agents-openai";
import { type MessageStore, type Revision, StoreError } from "@scrollback/store-core";
import { type Check, checkOptions, isObject, isOneOf, isString } from "@scrollback/store-core/driver";
import { isFunction } from "@scrollback/store-core/internal";
import { openItems, type ScrollbackSessionOptions, sessionChecks } from "./items.ts";
import { ScrollbackSession } from "./scrollback-session.ts";

type CompactionOptions = Omit<
  OpenAIResponsesCompactionSessionOptions,
  "underlyingSession" | "maxRollbackItems"
>;
type RunCompaction = OpenAIResponsesCompactionOwnershipAwareSession["runCompaction"];

/** Options of {@link ScrollbackCompactionSession}: those of a session, and those of the SDK's compaction session. */
interface ScrollbackCompactionSessionOptions extends ScrollbackSessionOptions, CompactionOptions {}

const checks: Record<keyof ScrollbackCompactionSessionOptions, Check> = {
  ...sessionChecks,
  client: isObject,
  model: isString,
  compactionMode: isOneOf("previous_response_id", "input", "auto"),
  shouldTriggerCompaction: isFunction,
};

/** The result of this process's last turn, and the revision of the history at its end. */
interface LastResponse {
  readonly responseId: string | undefined;
  readonly store: boolean | undefined;
  readonly revision: Revision | null;
}

/**
 * A session that OpenAI's `responses.compact` keeps short. The SDK's `OpenAIResponsesCompactionSession` decides when to compact,
 * makes the request and reads the response; it works on a copy. The history is replaced in one commit, and only if no other
 * process has written to it in between. So a crash at any moment loses no item.
 *
 * @example
 * const session = new ScrollbackCompactionSession({ stores, sessionId: "ada", client: new OpenAI(), model: "gpt-5.6" });
 * await run(agent, "Which tram goes to the harbour?", { session });
 */
export class ScrollbackCompactionSession
  extends ScrollbackSession
  implements OpenAIResponsesCompactionOwnershipAwareSession
{
  readonly #items: MessageStore<AgentInputItem>;
  readonly #compaction: CompactionOptions;
  /** The revision that the holder of a receipt has read or written last. */
  readonly #receipts = new WeakMap<object, Revision | null>();
  #last: LastResponse | undefined;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option; errors of the SDK's session for its options. */
  constructor(options: ScrollbackCompactionSessionOptions) {
    checkOptions("ScrollbackCompactionSession", options, checks, ["stores"]);
    const { stores, sessionId, ...compaction } = options;
    super({ stores, sessionId });
    this.#items = openItems("ScrollbackCompactionSession", { stores, sessionId: this.sessionId });
    this.#compaction = compaction;
    this.#onCopyOf([]);
  }

  /** Returns all items, and a receipt that allows the run that reads them to compact them. */
  async getItemsWithCompactionOwnership(): Promise<{ items: AgentInputItem[]; ownership: object }> {
    const { items, revision } = await this.#read();
    const ownership = {};
    this.#receipts.set(ownership, revision);
    return { items, ownership };
  }

  /** Adds items. The receipt stays valid unless another writer has written since. */
  async addItemsWithCompactionOwnership(items: AgentInputItem[], ownership: object | null): Promise<void> {
    const expectedRevision = ownership ? this.#receipts.get(ownership) : undefined;
    if (!ownership || expectedRevision === undefined) return await this.addItems(items);
    // The receipt is invalid until the outcome of the write is known.
    this.#receipts.delete(ownership);
    try {
      this.#receipts.set(ownership, await this.#items.addMessages(items, { expectedRevision }));
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
      await this.addItems(items);
    }
  }

  /**
   * Compacts the history if the SDK's rules require it. Returns null if nothing was requested.
   *
   * If another process writes to the session while OpenAI compacts it, the history stays unchanged. A call by a run then returns
   * the usage of the request; a direct call rejects with `CONFLICT`.
   */
  async runCompaction(
    ...parameters: Parameters<RunCompaction>
  ): Promise<OpenAIResponsesCompactionResult | null> {
    const [args = {}, runContext, ownership, modelExchange] = parameters;
    const { items, revision } = await this.#read();
    const last = this.#last?.revision === revision ? this.#last : undefined;
    const { responseId = last?.responseId, store = last?.store } = args;
    this.#last = { responseId, store, revision };
    const isAutomatic = ownership !== undefined;
    if (isAutomatic && (ownership === null || this.#receipts.get(ownership) !== revision)) return null;
    const { copy, compacting } = this.#onCopyOf(items);
    const receipt = isAutomatic ? (await compacting.getItemsWithCompactionOwnership()).ownership : undefined;
    const known: OpenAIResponsesCompactionArgs = {
      ...args,
      ...(responseId !== undefined && { responseId }),
      ...(store !== undefined && { store }),
    };
    const result = await compacting.runCompaction(known, runContext, receipt, modelExchange);
    if (!result) return null;
    try {
      const compacted = await this.#items.replaceMessages(await copy.getItems(), {
        expectedRevision: revision,
      });
      if (ownership) this.#receipts.set(ownership, compacted);
    } catch (error) {
      if (!isAutomatic || !StoreError.is(error, "CONFLICT")) throw error;
    }
    return result;
  }

  #onCopyOf(initialItems: AgentInputItem[]) {
    const copy = new MemorySession({ sessionId: this.sessionId, initialItems });
    const options = { ...this.#compaction, underlyingSession: copy };
    return { copy, compacting: new OpenAIResponsesCompactionSession(options) };
  }

  async #read(): Promise<{ items: AgentInputItem[]; revision: Revision | null }> {
    const { entries, revision } = await this.#items.read();
    return { items: this.paired(entries.map(({ message }) => message)), revision };
  }
}
