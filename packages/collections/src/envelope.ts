import { type ChatMessage, StoreError } from "@scrollback/store-core";
import type { Check } from "@scrollback/store-core/driver";

/**
 * Wraps any value as a message: the metadata of a message with empty content. The role determines trimming: a turn begins
 * at `"user"`, and `"tool"` stays with the message before it.
 *
 * @example
 * await store.addMessages([envelope("user", { type: "checkpoint", id })]);
 * const [message] = await store.listMessages({ limit: 1 });
 * console.log(message && valueOf(message));
 */
export function envelope(role: ChatMessage["role"], value: unknown, id?: string): ChatMessage {
  return { ...(id !== undefined && { id }), role, content: "", metadata: value };
}

/**
 * Returns the value of an envelope.
 *
 * @param check the problem of a value that is not a `T`, as `isObject` returns it. Default: takes any value.
 * @throws StoreError `CORRUPT` for a message that is not an envelope, and for a value that `check` refuses.
 */
export function valueOfEnvelope<T = unknown>(message: ChatMessage, check?: Check): T {
  if (message.content !== "" || !("metadata" in message))
    throw new StoreError("CORRUPT", "valueOf: message is not an envelope: it has content, or no metadata");
  const problem = check?.(message.metadata);
  if (problem !== undefined)
    throw new StoreError("CORRUPT", `valueOf: the value of message (its metadata) ${problem}`);
  return message.metadata as T;
}
