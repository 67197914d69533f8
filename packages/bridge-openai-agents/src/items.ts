import type { AgentInputItem } from "@openai/agents-core";
import { nameOf } from "@scrollback/collections";
import type { MessageStore, MessageTraits, StoreFactory } from "@scrollback/store-core";
import { type Check, checkOptions, isId } from "@scrollback/store-core/driver";
import { type HistoryTraits, isStoreFactory } from "@scrollback/store-core/internal";
import { openaiTraits } from "@scrollback/store-core/openai";

/** Options of a session: its stores and its id. */
export interface ScrollbackSessionOptions {
  /** A store factory of any backend and any message type. The factory stays open. */
  readonly stores: Pick<StoreFactory, "withTraits">;
  /** Default: a new UUID. */
  readonly sessionId?: string | undefined;
}

/** An item of this SDK has the fields of the Responses API, some in camel case. */
const ofObjects: MessageTraits<object> = openaiTraits;

/**
 * The properties of items for trimming: a turn begins at a user's message, a tool's result stays with its call, reasoning and a hosted
 * tool's call stay with the item after them, and the newest compaction item stays.
 */
const itemTraits: MessageTraits<AgentInputItem> = {
  ...ofObjects,
  check: (item) =>
    typeof item === "object" && item !== null && !Array.isArray(item) ? undefined : "must be an item",
};

/** The properties of items for a history that a model receives. */
export const itemHistoryTraits: HistoryTraits<AgentInputItem> = {
  ...itemTraits,
  toolCalls: (item) => pairedIds(item, itemTraits.toolCalls(item)),
  // The call of a program has no result of its own in it.
  toolResults: (item) =>
    itemTraits.toolCalls(item).length > 0 ? [] : pairedIds(item, itemTraits.toolResults(item)),
  without: () => undefined,
  isReasoning: (item) => item.type === "reasoning",
};

/** The ids of an item whose counterpart has the same id. A hosted shell has its result at OpenAI. */
function pairedIds(item: AgentInputItem, ids: readonly string[]): readonly string[] {
  return String(item.type).startsWith("shell_call") ? [] : ids.filter((id) => id !== "");
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
