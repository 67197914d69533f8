import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { isOneOf } from "@scrollback/store-core/driver";
import { textOf } from "../agent/model-messages.ts";
import type { InvocationContext, ProvidedContext } from "../context/context-provider.ts";

/** The default text before the memories. */
export const DEFAULT_HEADER = "## Memories\nConsider the following memories when answering user questions:";

/** What happens to a failed search or save: reported to the agent's `onError`, or thrown to the agent. */
export type OnFailure = "report" | "throw";

export const isOnFailure = isOneOf("report", "throw");

/** The message that gives memories to the model; undefined if there are none. */
export function memoriesMessage(header: string, memories: readonly string[]): ProvidedContext | undefined {
  const lines = memories.filter((memory) => memory.trim() !== "");
  if (lines.length === 0) return undefined;
  return { messages: [{ role: "user", content: [header, ...lines].join("\n") }] };
}

/** The messages that can be remembered: those with text of a user, a model or an application. */
export function rememberable(
  messages: readonly ChatMessage[],
): { role: "user" | "assistant" | "system"; content: string }[] {
  return messages.flatMap(({ role, content }) => {
    const text = textOf(content);
    return role === "tool" || text.trim() === "" ? [] : [{ role, content: text }];
  });
}

/** Reports a failure, or throws it with `"throw"`. A cancelled run is not a failure of the memory: its error is thrown. */
export function reportOrThrow(error: unknown, onFailure: OnFailure, context: InvocationContext): void {
  if (onFailure === "throw" || StoreError.is(error, "ABORTED")) throw error;
  context.report(error);
}
