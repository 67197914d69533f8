import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import {
  type ChatMessage,
  chatMessageTraits,
  type MessageTraits,
  openStores,
  type StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { anthropicTraits } from "@scrollback/store-core/anthropic";
import { openaiTraits } from "@scrollback/store-core/openai";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import type { CommandContext } from "./command-context.ts";
import { type BackendRole, codecOf } from "./environment.ts";
import { shownUrl } from "./redact.ts";
import { sqlitePathOf } from "./sqlite-files.ts";

const known: readonly MessageTraits<object>[] = [chatMessageTraits, anthropicTraits, openaiTraits];

/** The traits of the first known type of which a message is. */
function traitsOf(message: unknown): MessageTraits<unknown> | undefined {
  return known.find((traits) => traits.check?.(message) === undefined);
}

/**
 * Traits for messages of any shape: those of `ChatMessage`, of the Anthropic and of the OpenAI SDK. Any other message counts as an
 * assistant's, unless it has a valid `role`.
 */
export const anyMessageTraits: MessageTraits<unknown> = Object.freeze({
  role: (message: unknown) => {
    const { role } = Object(message) as Partial<ChatMessage>;
    const isRole = role === "system" || role === "user" || role === "tool";
    return traitsOf(message)?.role(message) ?? (isRole ? role : "assistant");
  },
  toolCalls: (message: unknown) => traitsOf(message)?.toolCalls(message) ?? [],
  toolResults: (message: unknown) => traitsOf(message)?.toolResults(message) ?? [],
  isReasoning: (message: unknown) => traitsOf(message)?.isReasoning?.(message) ?? false,
  isCompaction: (message: unknown) => traitsOf(message)?.isCompaction?.(message) ?? false,
});

/** Whether a message is of a known type. */
export function isKnownMessage(message: unknown): boolean {
  return traitsOf(message) !== undefined;
}

/** Whether a message is of the default type. */
export function isChatMessage(message: unknown): message is ChatMessage {
  return chatMessageTraits.check?.(message) === undefined;
}

/**
 * The stores of a URL argument, with the codec that the environment names for them. Does no I/O, except to check that the SQLite
 * file of a source exists. Only the `setup()` of a command makes anything: reading never does.
 */
export async function openBackend(
  context: CommandContext,
  argument: string,
  role: BackendRole = "source",
): Promise<StoreFactory<unknown>> {
  const codec = codecOf(role, context.env);
  const url = context.url(argument);
  const path = sqlitePathOf(url);
  if (role === "source" && path !== undefined && !existsSync(path)) {
    throw new CommandError(
      exitCodes.usage,
      `${shownUrl(url)}: the file does not exist; create it with setup`,
    );
  }
  return await openStores<unknown>(url, {
    traits: anyMessageTraits,
    onCorruptRecord,
    adapters: context.adapters,
    setup: false,
    ...(codec && { codec }),
  });
}

const collectors = new AsyncLocalStorage<(error: StoreError) => void>();

/** The `onCorruptRecord` of every factory that the CLI opens: reports to the collector of the current call, or throws. */
function onCorruptRecord(error: StoreError): void {
  const collect = collectors.getStore();
  if (!collect) throw error;
  collect(error);
}

/** Makes a call that skips unreadable records and reports each to `collect`. */
export function skippingCorruptRecords<T>(
  collect: (error: StoreError) => void,
  call: () => Promise<T>,
): Promise<T> {
  return collectors.run(collect, call);
}
