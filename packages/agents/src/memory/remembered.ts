import { type ChatMessage, isOneOf, StoreError } from "@scrollback/store-core";
import { textOf } from "../agent/model-messages.ts";
import type { InvocationContext, ProvidedContext } from "../context/context-provider.ts";

/** What stands above the memories, where no other header is given. */
export const DEFAULT_HEADER = "## Memories\nConsider the following memories when answering user questions:";

/** What becomes of a failed search or save: told to the agent's `onError`, or thrown to the agent. */
export type OnFailure = "report" | "throw";

export const isOnFailure = isOneOf("report", "throw");

/** The one message that memories are given to the model in; nothing where there are none. */
export function memoriesMessage(header: string, memories: readonly string[]): ProvidedContext | undefined {
  const lines = memories.filter((memory) => memory.trim() !== "");
  if (lines.length === 0) return undefined;
  return { messages: [{ role: "user", content: [header, ...lines].join("\n") }] };
}

/** Messages of which something can be remembered: text that a user, a model or an application wrote. */
export function rememberable(
  messages: readonly ChatMessage[],
): { role: "user" | "assistant" | "system"; content: string }[] {
  return messages.flatMap(({ role, content }) => {
    const text = textOf(content);
    return role === "tool" || text.trim() === "" ? [] : [{ role, content: text }];
  });
}

/** Reports a failure, or throws it where that is asked for. A cancelled run is no failure of the memory. */
export function reportOrThrow(error: unknown, onFailure: OnFailure, context: InvocationContext): void {
  if (onFailure === "throw" || StoreError.is(error, "ABORTED")) throw error;
  context.report(error);
}
