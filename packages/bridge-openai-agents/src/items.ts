import type { AgentInputItem } from "@openai/agents-core";
import { nameOf } from "@scrollback/collections";
import {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isId,
  type MessageStore,
  type MessageTraits,
  type StoreFactory,
} from "@scrollback/store-core";

/** Options of a session: its stores and its id. */
export interface ScrollbackSessionOptions {
  /** A store factory of any backend and any message type. The factory stays open. */
  readonly stores: Pick<StoreFactory, "withTraits">;
  /** Default: a new UUID. */
  readonly sessionId?: string | undefined;
}

const results = /_(result|output)$/;

/** The properties of items for trimming: a turn begins at a user's message, and a tool's result stays with its call. */
export const itemTraits: MessageTraits<AgentInputItem> = {
  role(item) {
    const { role } = item as { role?: unknown };
    if (role === "user" || role === "system" || role === "assistant") return role;
    return results.test(typeOf(item)) ? "tool" : "assistant";
  },
  toolCalls: (item) => (results.test(typeOf(item)) ? [] : callIds(item)),
  toolResults: (item) => (results.test(typeOf(item)) ? callIds(item) : []),
  check: (item) =>
    typeof item === "object" && item !== null && !Array.isArray(item) ? undefined : "must be an item",
};

/** The checks of a session's options. */
export const sessionChecks: Record<keyof ScrollbackSessionOptions, Check> = {
  stores: hasMethods("withTraits"),
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
  checkOptions(owner, options, sessionChecks);
  const { stores, sessionId } = options;
  if (stores === undefined) invalid(`${owner}: stores must be a store factory`);
  return stores.withTraits(itemTraits).open(threadOf(sessionId));
}

function typeOf(item: AgentInputItem): string {
  return String(item.type ?? "message");
}

function callIds(item: AgentInputItem): string[] {
  const { callId } = item as { callId?: unknown };
  return typeof callId === "string" ? [callId] : [];
}
