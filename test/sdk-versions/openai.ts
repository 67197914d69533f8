// Type-checked beside versions of `openai` by sdk-versions.deep.test.ts, like a user's program.
import { openStores } from "@scrollback/store-core";
import { openaiTraits } from "@scrollback/store-core/openai";
import type { OpenAI } from "openai";

export async function histories(url: string) {
  const chats = await openStores<OpenAI.ChatCompletionMessageParam>(url, { traits: openaiTraits });
  const items = await openStores<OpenAI.Responses.ResponseInputItem>(url, { traits: openaiTraits });
  const completion: OpenAI.ChatCompletionMessageParam[] = await chats.open().listMessages();
  const input: OpenAI.Responses.ResponseInput = await items.open().listMessages();
  return { completion, input };
}
