// Type-checked beside versions of `@anthropic-ai/sdk` by sdk-versions.deep.test.ts, like a user's program.
import type { Anthropic } from "@anthropic-ai/sdk";
import { openStores } from "@scrollback/store-core";
import { anthropicTraits } from "@scrollback/store-core/anthropic";

export async function histories(url: string) {
  const claude = await openStores(url, { traits: anthropicTraits });
  const beta = await openStores<Anthropic.Beta.BetaMessageParam>(url, { traits: anthropicTraits });
  const messages: Anthropic.MessageParam[] = await claude.open().listMessages();
  const betas: Anthropic.Beta.BetaMessageParam[] = await beta.open().listMessages();
  return { messages, betas };
}
