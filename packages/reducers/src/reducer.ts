import { type ChatMessage, chatMessageTraits } from "@scrollback/store-core";
import { type Check, checkOptions, invalid } from "@scrollback/store-core/driver";
import { isSignal } from "@scrollback/store-core/internal";

/** Options of {@link ChatReducer.reduce}. */
export interface ReduceOptions {
  /** Aborting rejects with `ABORTED` promptly and also reaches the reducer's own requests. */
  signal?: AbortSignal;
}

/**
 * Shortens a history before a model sees it or a store keeps it.
 *
 * `reduce` takes messages oldest first and returns a new array, oldest first. It never changes the given array or its
 * messages; the kept messages are the same objects.
 *
 * @example
 * const newestTen: ChatReducer = { reduce: async (messages) => messages.slice(-10) };
 */
export interface ChatReducer<M = ChatMessage> {
  reduce(messages: readonly M[], options?: ReduceOptions): Promise<M[]>;
}

/** @throws StoreError `INVALID_ARGUMENT` that names `owner` and the invalid message. */
export function checkMessages(owner: string, messages: unknown): void {
  if (!Array.isArray(messages)) invalid(`${owner}: messages must be an array of messages`);
  for (let index = 0; index < messages.length; index++) {
    const problem = chatMessageTraits.check?.(messages[index]);
    if (problem) invalid(`${owner}: messages[${index}]: ${problem}`);
  }
}

/** Checks the arguments of `reduce`. @throws StoreError `INVALID_ARGUMENT` that names `owner` and the problem. */
export function checkReduce(owner: string, messages: unknown, options: unknown): void {
  checkOptions(`${owner}.reduce`, options, { signal: isSignal });
  checkMessages(`${owner}.reduce`, messages);
}

/**
 * Like `checkOptions` of store-core, but with required options.
 *
 * @throws StoreError `INVALID_ARGUMENT` that names `owner`, the option and what it must be.
 */
export function checkSettings(
  owner: string,
  options: unknown,
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): void {
  const given = options ?? {};
  checkOptions(owner, given, { ...required, ...optional });
  for (const [name, check] of Object.entries(required)) {
    const problem = check(Reflect.get(given, name));
    if (problem) invalid(`${owner}: ${name} ${problem}`);
  }
}
