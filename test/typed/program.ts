// Compiled by types.deep.test.ts like a user's program.
import type { Anthropic } from "@anthropic-ai/sdk";
import * as agents from "@scrollback/agents";
import * as groupChat from "@scrollback/agents/group-chat";
import * as aiSdk from "@scrollback/bridge-ai-sdk";
import * as aiSdkClient from "@scrollback/bridge-ai-sdk/client";
import * as aiSdkRedis from "@scrollback/bridge-ai-sdk/redis";
import * as claudeAgent from "@scrollback/bridge-claude-agent";
import * as genkit from "@scrollback/bridge-genkit";
import * as googleAdk from "@scrollback/bridge-google-adk";
import * as langgraph from "@scrollback/bridge-langgraph";
import * as langchainHistory from "@scrollback/bridge-langgraph/history";
import * as langchainMessages from "@scrollback/bridge-langgraph/messages";
import * as langgraphStore from "@scrollback/bridge-langgraph/store";
import * as openaiAgents from "@scrollback/bridge-openai-agents";
import * as openaiCompaction from "@scrollback/bridge-openai-agents/compaction";
import * as openaiMessages from "@scrollback/bridge-openai-agents/messages";
import * as strands from "@scrollback/bridge-strands";
import * as chats from "@scrollback/chats";
import * as cli from "@scrollback/cli";
import * as collections from "@scrollback/collections";
import * as reducers from "@scrollback/reducers";
import * as sessions from "@scrollback/sessions";
import { type ChatMessage, createMemoryStores, type MessageTraits, openStores } from "@scrollback/store-core";
import { anthropicTraits } from "@scrollback/store-core/anthropic";
import { openaiTraits } from "@scrollback/store-core/openai";
import { createDynamoStores } from "@scrollback/store-dynamo";
import { createLibsqlStores } from "@scrollback/store-libsql";
import { createMongoStores } from "@scrollback/store-mongo";
import { createPostgresStores } from "@scrollback/store-postgres";
import { createRedisStores } from "@scrollback/store-redis";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { generateText, type ModelMessage, type UIMessage } from "ai";
import type { OpenAI } from "openai";

export const layers = [
  ...[agents, chats, cli, collections, groupChat, reducers, sessions],
  ...[aiSdk, aiSdkClient, aiSdkRedis],
  ...[claudeAgent, genkit, googleAdk, openaiAgents, openaiCompaction, openaiMessages, strands],
  ...[langgraph, langchainHistory, langchainMessages, langgraphStore],
];

/** Messages of the AI SDK go in, and back to it. */
export async function answer(url: string): Promise<string> {
  const stores = await openStores<ModelMessage>(url);
  const store = stores.open();
  const { text, responseMessages } = await generateText({
    model: "openai/gpt-5-mini",
    messages: await store.listMessages(),
  });
  await store.addMessages(await responseMessages);
  return text;
}

/** Messages of the SDKs go in, and back to them. */
export async function histories(url: string) {
  const chats = await openStores<OpenAI.ChatCompletionMessageParam>(url, { traits: openaiTraits });
  const items = await openStores<OpenAI.Responses.ResponseInputItem>(url, { traits: openaiTraits });
  const claude = await openStores(url, { traits: anthropicTraits });
  const beta = await openStores<Anthropic.Beta.BetaMessageParam>(url, { traits: anthropicTraits });
  const completion: OpenAI.ChatCompletionMessageParam[] = await chats.open().listMessages();
  const input: OpenAI.Responses.ResponseInput = await items.open().listMessages();
  const messages: Anthropic.MessageParam[] = await claude.open().listMessages();
  const betas: Anthropic.Beta.BetaMessageParam[] = await beta.open().listMessages();
  return { completion, input, messages, betas };
}

/** Converts a chat of any framework to any other. */
export function converted(messages: readonly ModelMessage[]): UIMessage[] {
  const chat = aiSdk.fromModelMessages(messages).messages;
  const items = openaiMessages.toAgentItems(chat);
  const [lost] = items.lost;
  const effect: "dropped" | "changed" | undefined = lost?.effect;
  const back = openaiMessages.fromAgentItems(items.messages).messages;
  const langchain = langchainMessages.toLangChainMessages(back).messages;
  return effect
    ? []
    : aiSdk.toUIMessages(langchainMessages.fromLangChainMessages(langchain).messages).messages;
}

declare const traits: MessageTraits<UIMessage>;
const url = "memory:";

/** Other messages need traits. */
export async function others(): Promise<UIMessage[][]> {
  // @ts-expect-error: traits are missing
  await openStores<UIMessage>(url);
  // @ts-expect-error: traits are missing
  createMemoryStores<UIMessage>();
  // @ts-expect-error: traits are missing
  createSqliteStores<UIMessage>({ url });
  // @ts-expect-error: traits are missing
  createRedisStores<UIMessage>({ url });
  // @ts-expect-error: traits are missing
  createLibsqlStores<UIMessage>({ url });
  // @ts-expect-error: traits are missing
  createMongoStores<UIMessage>({ url });
  // @ts-expect-error: traits are missing
  createPostgresStores<UIMessage>({ url });
  // @ts-expect-error: traits are missing
  createDynamoStores<UIMessage>({ url });
  const all = [
    await openStores(url, { traits }),
    createMemoryStores({ traits }),
    createSqliteStores({ url, traits }),
    createRedisStores({ url, traits }),
    createLibsqlStores({ url, traits }),
    createMongoStores({ url, traits }),
    createPostgresStores({ url, traits }),
    createDynamoStores({ url, traits }),
  ];
  return await Promise.all(all.map((stores) => stores.open().listMessages()));
}

/** The default message needs no traits. */
export async function chat(): Promise<ChatMessage[]> {
  const adapters = { sqlite: createSqliteStores, redis: createRedisStores };
  return await (await openStores(url, { adapters })).open().listMessages();
}
