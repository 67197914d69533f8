/**
 * Traits for stores of the messages of the `openai` package. Only types are imported from it.
 *
 * @packageDocumentation
 */
import type { OpenAI } from "openai";
import type { MessageTraits } from "./message/message.ts";
import { openaiMessageTraits } from "./message/openai-messages.ts";

/**
 * For stores of messages of chat completions, and for stores of items of the Responses API; the type argument names which. A tool
 * result stays with its call, reasoning and the calls of built-in tools with the item after them, a leading `system` or `developer`
 * message and the newest compaction item are kept.
 *
 * @example
 * const chats = await openStores<OpenAI.ChatCompletionMessageParam>(url, { traits: openaiTraits });
 * const items = await openStores<OpenAI.Responses.ResponseInputItem>(url, { traits: openaiTraits });
 */
export const openaiTraits: Required<
  MessageTraits<OpenAI.ChatCompletionMessageParam | OpenAI.Responses.ResponseInputItem>
> = openaiMessageTraits;
