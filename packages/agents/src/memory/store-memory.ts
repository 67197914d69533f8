import {
  type ChatMessage,
  type MessageStore,
  retryOnConflict,
  type StoreFactory,
} from "@scrollback/store-core";
import { checkOptions, hasMethods, isId, isString } from "@scrollback/store-core/driver";
import { textOf } from "../agent/model-messages.ts";
import type {
  ContextProvider,
  Invocation,
  InvocationContext,
  ProvidedContext,
} from "../context/context-provider.ts";
import { type ExtractFunction, type ExtractModel, extractFacts, isExtract } from "./extract.ts";
import { DEFAULT_HEADER, isOnFailure, memoriesMessage, type OnFailure, reportOrThrow } from "./remembered.ts";

/** Options of {@link StoreMemory}. */
export interface StoreMemoryOptions {
  /** Where the facts are stored: one thread per user, `memory/<userId>`. `maxMessages` limits their number. */
  stores: StoreFactory;
  /** The user of the facts, in all threads. At most 1,024 bytes with the thread's prefix. */
  userId: string;
  /** Extracts the facts to remember from a turn. */
  extract: ExtractFunction | ExtractModel;
  /** The text before the facts. */
  header?: string;
  /**
   * `"report"` (default): a failed read or save goes to the agent's `onError`. `"throw"`: a failed read fails the run; a
   * failed save is still only reported, because the turn is stored by then.
   */
  onFailure?: OnFailure;
}

const threadIdOf = (userId: string) => `memory/${userId}`;

const optionChecks = Object.freeze({
  stores: hasMethods("open", "restore"),
  userId: (value: unknown) => isString(value) ?? isId(threadIdOf(String(value))),
  extract: isExtract,
  header: isString,
  onFailure: isOnFailure,
});

/**
 * Long-term memory without a service: facts about a user, stored in any Scrollback store and known in all threads. Before a
 * run the model receives all facts, oldest first. After a successful run `extract` returns the facts to add. A fact that
 * exists is not added again, also when several processes save at once.
 *
 * @example
 * const memory = new StoreMemory({ stores, userId: "alice", extract: { model } });
 * const agent = new ChatAgent({ model, stores, contextProviders: [memory] });
 */
export class StoreMemory implements ContextProvider {
  readonly #store: MessageStore;
  readonly #extract: ExtractFunction | ExtractModel;
  readonly #header: string;
  readonly #onFailure: OnFailure;

  /** @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option. */
  constructor(options: StoreMemoryOptions) {
    checkOptions("StoreMemory", options, optionChecks, ["stores", "userId", "extract"]);
    const { stores, userId, extract, header = DEFAULT_HEADER, onFailure = "report" } = options;
    this.#store = stores.open(threadIdOf(userId));
    this.#extract = extract;
    this.#header = header;
    this.#onFailure = onFailure;
  }

  async invoking(
    _messages: readonly ChatMessage[],
    context: InvocationContext,
  ): Promise<ProvidedContext | undefined> {
    try {
      const { signal } = context;
      const facts = await this.#store.listMessages(signal ? { signal } : {});
      return memoriesMessage(this.#header, factsOf(facts));
    } catch (error) {
      reportOrThrow(error, this.#onFailure, context);
      return undefined;
    }
  }

  async invoked({ request, response, error }: Invocation, context: InvocationContext): Promise<void> {
    if (error !== undefined || !response) return;
    try {
      const facts = await extractFacts(this.#extract, { request, response }, context.signal);
      await this.#remember(facts);
    } catch (failure) {
      reportOrThrow(failure, this.#onFailure, context);
    }
  }

  /** The current facts, oldest first. */
  async facts(): Promise<string[]> {
    return factsOf(await this.#store.listMessages());
  }

  async #remember(facts: readonly string[]): Promise<void> {
    if (facts.length === 0) return;
    await retryOnConflict(async () => {
      const { entries, revision } = await this.#store.read();
      const known = new Set(factsOf(entries.map((entry) => entry.message)));
      const added = facts.filter((fact) => !known.has(fact));
      if (added.length === 0) return;
      const messages = added.map((content): ChatMessage => ({ role: "user", content }));
      await this.#store.addMessages(messages, { expectedRevision: revision });
    });
  }
}

function factsOf(messages: readonly ChatMessage[]): string[] {
  return messages.map(({ content }) => textOf(content));
}
