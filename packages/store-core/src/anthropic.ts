/**
 * Traits for stores of the messages of the `@anthropic-ai/sdk` package. Only types are imported from it.
 *
 * @packageDocumentation
 */
import type { Anthropic } from "@anthropic-ai/sdk";
import { anthropicMessageTraits } from "./message/anthropic-messages.ts";
import type { MessageTraits } from "./message/message.ts";

/**
 * For stores of the Anthropic SDK's messages, its beta messages too: `openStores<Anthropic.Beta.BetaMessageParam>`. A message with
 * tool results stays with the calls, and the newest message with a compaction is kept, unless it calls a tool.
 *
 * @example
 * const stores = await openStores(url, { traits: anthropicTraits });
 */
export const anthropicTraits: Required<MessageTraits<Anthropic.MessageParam>> = anthropicMessageTraits;
