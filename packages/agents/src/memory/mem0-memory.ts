import {
  type ChatMessage,
  checkOptions,
  hasMethods,
  invalid,
  isBoolean,
  isString,
  StoreError,
} from "@scrollback/store-core";
import type {
  ContextProvider,
  Invocation,
  InvocationContext,
  ProvidedContext,
} from "../context/context-provider.ts";
import { createMem0Client, type Mem0Client, type Mem0Scope, mem0Error, memoriesOf } from "./mem0-client.ts";
import {
  DEFAULT_HEADER,
  isOnFailure,
  memoriesMessage,
  type OnFailure,
  rememberable,
  reportOrThrow,
} from "./remembered.ts";

/** What a {@link Mem0Memory} is made of: one of `client` and `apiKey`, and at least one id once it is used. */
export interface Mem0MemoryOptions {
  /** A `MemoryClient` of `mem0ai`. It is never closed. */
  client?: Mem0Client;
  /** Mem0's key; `mem0ai` is loaded at the first use. */
  apiKey?: string;
  /** With `apiKey`: where the API is. Default: Mem0's own. */
  host?: string;
  /** Mem0's `app_id`. */
  applicationId?: string;
  /** Mem0's `agent_id`. */
  agentId?: string;
  /** Mem0's `run_id`. */
  threadId?: string;
  /** Mem0's `user_id`. */
  userId?: string;
  /** Uses the id of the thread in place of `threadId`: what is remembered stays in it. One thread at a time. Default false. */
  scopeToThread?: boolean;
  /** What stands above the memories. */
  header?: string;
  /**
   * `"report"`, the default: a failed search or save goes to the agent's `onError`. `"throw"`: a failed search fails the
   * run; a failed save is reported all the same, as the turn is stored by then.
   */
  onFailure?: OnFailure;
}

const optionChecks = Object.freeze({
  client: hasMethods("add", "search"),
  apiKey: isString,
  host: isString,
  applicationId: isString,
  agentId: isString,
  threadId: isString,
  userId: isString,
  scopeToThread: isBoolean,
  header: isString,
  onFailure: isOnFailure,
});

/**
 * Long-term memory in Mem0: before a run it searches for what the input is about and gives the model what it finds;
 * after a run that succeeded it sends the turn's texts.
 *
 * A search is one entity's: the user's where `userId` is given, else the agent's, narrowed by application and thread.
 * That is how Mem0 keeps them, and what one user said is never found for another through an agent that both talk to.
 *
 * @example
 * const memory = new Mem0Memory({ apiKey: process.env.MEM0_API_KEY, userId: "alice" });
 * const agent = new ChatAgent({ model, contextProviders: [memory] });
 */
export class Mem0Memory implements ContextProvider {
  readonly #options: Mem0MemoryOptions;
  readonly #header: string;
  readonly #onFailure: OnFailure;
  #client: Promise<Mem0Client> | undefined;
  #isClosed = false;
  /** The one thread that this memory is of, with `scopeToThread`. */
  #boundThread: string | undefined;

  /** @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option, or not exactly one of `client` and `apiKey`. */
  constructor(options: Mem0MemoryOptions) {
    checkOptions("Mem0Memory", options ?? {}, optionChecks);
    const { client, apiKey, host, header = DEFAULT_HEADER, onFailure = "report" } = options ?? {};
    if ((client === undefined) === (apiKey === undefined))
      invalid("Mem0Memory: give either client or apiKey");
    if (host !== undefined && client) invalid("Mem0Memory: host goes with apiKey; a client has its own");
    this.#options = { ...options };
    this.#header = header;
    this.#onFailure = onFailure;
  }

  /** @throws StoreError `CONFLICT` with `scopeToThread` when this memory is of another thread already. */
  threadCreated(threadId: string): void {
    this.#bind(threadId);
  }

  async invoking(
    messages: readonly ChatMessage[],
    context: InvocationContext,
  ): Promise<ProvidedContext | undefined> {
    const scope = this.#scope(context.threadId);
    const query = rememberable(messages)
      .map(({ content }) => content)
      .join("\n");
    if (query === "") return undefined;
    try {
      const client = await this.#open();
      const answer = await client.search(query, { filters: filtersOf(scope) });
      return memoriesMessage(this.#header, memoriesOf(answer));
    } catch (error) {
      reportOrThrow(mem0Error("the search failed", error), this.#onFailure, context);
      return undefined;
    }
  }

  async invoked({ request, response, error }: Invocation, context: InvocationContext): Promise<void> {
    if (error !== undefined || !response) return;
    const messages = rememberable([...request, ...response]);
    if (messages.length === 0) return;
    try {
      const client = await this.#open();
      await client.add(messages, this.#scope(context.threadId));
    } catch (failure) {
      reportOrThrow(mem0Error("the turn was not saved", failure), this.#onFailure, context);
    }
  }

  /** Which thread this memory is of, with `scopeToThread`. */
  async serialize(): Promise<{ threadId?: string }> {
    return this.#boundThread === undefined ? {} : { threadId: this.#boundThread };
  }

  /** @throws StoreError `CONFLICT` when this memory is of another thread already, `INVALID_STATE` for a foreign state. */
  async updateFromState(state: unknown): Promise<void> {
    if (state == null) return;
    const { threadId } = state as { threadId?: unknown };
    if (threadId === undefined) return;
    if (typeof threadId !== "string") {
      throw new StoreError("INVALID_STATE", "Mem0Memory: state.threadId must be a string");
    }
    this.#bind(threadId);
  }

  /** Lets go of the client that `apiKey` made. A client that was given stays as it is. Twice is the same as once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const own = this.#options.client ? undefined : await this.#client?.catch(() => undefined);
    this.#client = undefined;
    // The official client holds nothing open; one that does has a close().
    if (own && "close" in own && typeof own.close === "function") await own.close();
  }

  #bind(threadId: string): void {
    if (!this.#options.scopeToThread) return;
    if (this.#boundThread !== undefined && this.#boundThread !== threadId) {
      throw new StoreError(
        "CONFLICT",
        "Mem0Memory: with scopeToThread it is of one thread at a time; give contextProviders as a function that makes one for each",
      );
    }
    this.#boundThread = threadId;
  }

  #scope(threadId: string | undefined): Mem0Scope {
    const { applicationId, agentId, userId, scopeToThread } = this.#options;
    if (scopeToThread && this.#boundThread === undefined && threadId !== undefined) this.#bind(threadId);
    const runId = scopeToThread ? (this.#boundThread ?? this.#options.threadId) : this.#options.threadId;
    const scope: Mem0Scope = {
      ...(userId !== undefined && { userId }),
      ...(agentId !== undefined && { agentId }),
      ...(applicationId !== undefined && { appId: applicationId }),
      ...(runId !== undefined && { runId }),
    };
    if (Object.keys(scope).length > 0) return scope;
    return invalid(
      "Mem0Memory: give at least one of userId, agentId, applicationId and threadId (scopeToThread needs a thread that has an id)",
    );
  }

  async #open(): Promise<Mem0Client> {
    if (this.#isClosed) throw new StoreError("CLOSED", "Mem0Memory: it was closed; make a new one");
    const { client, apiKey = "", host } = this.#options;
    if (client) return client;
    this.#client ??= createMem0Client(apiKey, host);
    return await this.#client;
  }
}

function filtersOf({ userId, agentId, appId, runId }: Mem0Scope): Record<string, unknown> {
  const entity = userId !== undefined ? { user_id: userId } : agentId !== undefined && { agent_id: agentId };
  const conditions = [
    entity,
    appId !== undefined && { app_id: appId },
    runId !== undefined && { run_id: runId },
  ];
  return { AND: conditions.filter(Boolean) };
}
