import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { checkOptions, hasMethods, invalid, isString } from "@scrollback/store-core/driver";
import { isBoolean } from "@scrollback/store-core/internal";
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

/** Options of {@link Mem0Memory}: either `client` or `apiKey`, and at least one id by its first use. */
export interface Mem0MemoryOptions {
  /** A `MemoryClient` of `mem0ai`. It is never closed. */
  client?: Mem0Client;
  /** Mem0's API key; `mem0ai` is loaded at the first use. */
  apiKey?: string;
  /** With `apiKey`: the address of the API. Default: Mem0's own. */
  host?: string;
  /** Mem0's `app_id`. */
  applicationId?: string;
  /** Mem0's `agent_id`. */
  agentId?: string;
  /** Mem0's `run_id`. */
  threadId?: string;
  /** Mem0's `user_id`. */
  userId?: string;
  /** Uses the thread's id instead of `threadId`, so memories stay in the thread. One thread at a time. Default false. */
  scopeToThread?: boolean;
  /** The text before the memories. */
  header?: string;
  /**
   * `"report"` (default): a failed search or save goes to the agent's `onError`. `"throw"`: a failed search fails the run;
   * a failed save is still only reported, because the turn is stored by then.
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
 * Long-term memory in Mem0. Before a run it searches for memories about the input and gives them to the model. After a
 * successful run it sends the turn's texts.
 *
 * A search covers one entity: the user if `userId` is given, else the agent, narrowed by application and thread. Mem0
 * stores memories in this way, so one user's memories are never found for another user of the same agent.
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
  /** The only thread that this memory serves, with `scopeToThread`. */
  #boundThread: string | undefined;

  /** @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option, or not exactly one of `client` and `apiKey`. */
  constructor(options: Mem0MemoryOptions) {
    checkOptions("Mem0Memory", options ?? {}, optionChecks);
    const { client, apiKey, host, header = DEFAULT_HEADER, onFailure = "report" } = options ?? {};
    if ((client === undefined) === (apiKey === undefined))
      invalid("Mem0Memory: client and apiKey: exactly one of them must be given");
    if (host !== undefined && client)
      invalid("Mem0Memory: host cannot be combined with client; set the host of the client");
    this.#options = { ...options };
    this.#header = header;
    this.#onFailure = onFailure;
  }

  /** @throws StoreError `CONFLICT` with `scopeToThread` when this memory serves another thread already. */
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

  /** The thread that this memory serves, with `scopeToThread`. */
  async serialize(): Promise<{ threadId?: string }> {
    return this.#boundThread === undefined ? {} : { threadId: this.#boundThread };
  }

  /** @throws StoreError `CONFLICT` when this memory serves another thread already, `INVALID_STATE` for a foreign state. */
  async updateFromState(state: unknown): Promise<void> {
    if (state == null) return;
    const { threadId } = state as { threadId?: unknown };
    if (threadId === undefined) return;
    if (typeof threadId !== "string") {
      throw new StoreError("INVALID_STATE", "Mem0Memory: state.threadId must be a string");
    }
    this.#bind(threadId);
  }

  /** Closes the client that was created from `apiKey`. A given client stays open. A second call does nothing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const own = this.#options.client ? undefined : await this.#client?.catch(() => undefined);
    this.#client = undefined;
    // The official client holds no resources; a client that does has a `close()`.
    if (own && "close" in own && typeof own.close === "function") await own.close();
  }

  #bind(threadId: string): void {
    if (!this.#options.scopeToThread) return;
    if (this.#boundThread !== undefined && this.#boundThread !== threadId) {
      throw new StoreError(
        "CONFLICT",
        "Mem0Memory: scopeToThread serves one thread at a time; give contextProviders as a function that creates one for each thread",
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
      "Mem0Memory: give at least one of userId, agentId, applicationId and threadId (scopeToThread needs a thread with an id)",
    );
  }

  async #open(): Promise<Mem0Client> {
    if (this.#isClosed) throw new StoreError("CLOSED", "Mem0Memory: this memory is closed; create a new one");
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
