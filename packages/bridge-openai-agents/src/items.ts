import type { AgentInputItem } from "@openai/agents-core";
import { nameOf } from "@scrollback/collections";
import type { MessageStore, MessageTraits, StoreFactory } from "@scrollback/store-core";
import { type Check, checkOptions, isId } from "@scrollback/store-core/driver";
import { type HistoryTraits, isStoreFactory } from "@scrollback/store-core/internal";

/** Options of a session: its stores and its id. */
export interface ScrollbackSessionOptions {
  /** A store factory of any backend and any message type. The factory stays open. */
  readonly stores: Pick<StoreFactory, "withTraits">;
  /** Default: a new UUID. */
  readonly sessionId?: string | undefined;
}

const results = /_(result|output)$/;
/** A hosted tool's call holds its own result. */
const calls = /^(?!hosted_tool_call$)(.*_call|program)$/;

/**
 * The properties of items for trimming: a turn begins at a user's message, a tool's result stays with its call, reasoning stays with
 * the item after it, and the newest compaction item stays.
 */
export const itemTraits: MessageTraits<AgentInputItem> = {
  role(item) {
    const { role } = item as { role?: unknown };
    if (role === "user" || role === "system" || role === "assistant") return role;
    return results.test(typeOf(item)) ? "tool" : "assistant";
  },
  toolCalls: (item) => (calls.test(typeOf(item)) ? [callIdOf(item)] : []),
  toolResults: (item) => (results.test(typeOf(item)) ? [callIdOf(item)] : []),
  isReasoning: (item) => typeOf(item) === "reasoning",
  isCompaction: (item) => typeOf(item) === "compaction",
  check: (item) =>
    typeof item === "object" && item !== null && !Array.isArray(item) ? undefined : "must be an item",
};

/** The properties of items for a history that a model receives. */
export const itemHistoryTraits: HistoryTraits<AgentInputItem> = {
  ...itemTraits,
  toolCalls: (item) => itemTraits.toolCalls(item).filter(() => isPaired(item)),
  toolResults: (item) => itemTraits.toolResults(item).filter(() => isPaired(item)),
  without: () => undefined,
  isReasoning: (item) => typeOf(item) === "reasoning",
};

/** Whether an item's counterpart has the same id. A hosted shell has its result at OpenAI. */
function isPaired(item: AgentInputItem): boolean {
  return callIdOf(item) !== "" && !typeOf(item).startsWith("shell_call");
}

/** The checks of a session's options. */
export const sessionChecks: Record<keyof ScrollbackSessionOptions, Check> = {
  stores: isStoreFactory(),
  sessionId: isId,
};

/** The thread of a session. */
export function threadOf(sessionId: string): string {
  return `openai:${nameOf(sessionId)}`;
}

/** The items of a session, without I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option. */
export function openItems(
  owner: string,
  options: ScrollbackSessionOptions & { readonly sessionId: string },
): MessageStore<AgentInputItem> {
  const { sessionId } = options;
  return itemStores(owner, options).open(threadOf(sessionId));
}

/** The stores of items. @throws StoreError `INVALID_ARGUMENT` for an invalid option. */
export function itemStores(owner: string, options: ScrollbackSessionOptions): StoreFactory<AgentInputItem> {
  checkOptions(owner, options, sessionChecks, ["stores"]);
  return options.stores.withTraits(itemTraits);
}

function typeOf(item: AgentInputItem): string {
  return String(item.type ?? "message");
}

/** The id of a call or result; `""` for a call of the API's own tool search without one. */
function callIdOf(item: AgentInputItem): string {
  const { callId, call_id: snakeCase } = item as { callId?: unknown; call_id?: unknown };
  return String(callId ?? snakeCase ?? "");
}
