import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { type AgentInputItem, protocol } from "@openai/agents-core";
import {
  fromModelMessages,
  fromUIMessages,
  toModelMessages,
  toUIMessages,
  uiMessageTraits,
} from "@scrollback/bridge-ai-sdk";
import { ScrollbackChatMessageHistory } from "@scrollback/bridge-langgraph/history";
import { fromLangChainMessages, toLangChainMessages } from "@scrollback/bridge-langgraph/messages";
import { ScrollbackSession } from "@scrollback/bridge-openai-agents";
import { fromAgentItems, toAgentItems } from "@scrollback/bridge-openai-agents/messages";
import { type ChatMessage, chatMessageTraits, openStores, type StoreFactory } from "@scrollback/store-core";
import { type ModelMessage, modelMessageSchema, safeValidateUIMessages, type UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-conversions-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The answer of the turn, which is the same in a model's messages and in Scrollback's. */
const answer = [
  {
    role: "assistant",
    content: [
      { type: "text", text: "Let me see." },
      { type: "tool-call", toolCallId: "c1", toolName: "find", input: { to: "harbour" } },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "c1", toolName: "find", output: { type: "text", value: "8" } },
    ],
  },
  { role: "assistant", content: "Line 8." },
] satisfies (ChatMessage & ModelMessage)[];

/** A turn with a tool, stored by each framework through its own bridge. */
const writers = {
  "a ChatMessage store": async (stores: StoreFactory, name: string) => {
    const store = stores.open(`chat:${name}`);
    await store.addMessages([
      { id: "m1", role: "system", content: "Be short." },
      { id: "m2", role: "user", content: "Which tram?", createdAt: new Date(0) },
      ...answer,
    ]);
    return await stores.open(`chat:${name}`).listMessages();
  },
  "the AI SDK's generateText": async (stores: StoreFactory, name: string) => {
    const models = stores.withTraits<ModelMessage>(chatMessageTraits as never);
    await models
      .open(`model:${name}`)
      .addMessages([
        { role: "system", content: "Be short." },
        { role: "user", content: [{ type: "text", text: "Which tram?" }] },
        ...answer,
      ]);
    return fromModelMessages(await models.open(`model:${name}`).listMessages()).messages;
  },
  "the AI SDK's useChat": async (stores: StoreFactory, name: string) => {
    const pages = stores.withTraits<UIMessage>(uiMessageTraits);
    await pages.open(`ui:${name}`).addMessages([
      { id: "m1", role: "system", parts: [{ type: "text", text: "Be short." }] },
      { id: "m2", role: "user", parts: [{ type: "text", text: "Which tram?" }] },
      {
        id: "m3",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "text", text: "Let me see.", state: "done" },
          {
            type: "tool-find",
            toolCallId: "c1",
            state: "output-available",
            input: { to: "harbour" },
            output: "8",
          },
          { type: "step-start" },
          { type: "text", text: "Line 8.", state: "done" },
        ],
      },
    ]);
    const { messages, lost } = fromUIMessages(await pages.open(`ui:${name}`).listMessages());
    expect(lost).toEqual([]);
    return messages;
  },
  "a LangChain history": async (stores: StoreFactory, sessionId: string) => {
    await new ScrollbackChatMessageHistory({ stores, sessionId }).addMessages([
      new SystemMessage("Be short."),
      new HumanMessage({ content: "Which tram?", id: "m2" }),
      new AIMessage({
        content: "Let me see.",
        tool_calls: [{ id: "c1", name: "find", args: { to: "harbour" } }],
        usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      } as never),
      new ToolMessage({ content: "8", tool_call_id: "c1" }),
      new AIMessage("Line 8."),
    ]);
    const read = await new ScrollbackChatMessageHistory({ stores, sessionId }).getMessages();
    const { messages, lost } = fromLangChainMessages(read);
    expect(lost).toEqual([{ index: 2, path: "usage_metadata", effect: "dropped" }]);
    return messages;
  },
  "an OpenAI Agents session": async (stores: StoreFactory, sessionId: string) => {
    await new ScrollbackSession({ stores, sessionId }).addItems([
      { type: "message", role: "system", content: "Be short." },
      { type: "message", role: "user", content: "Which tram?" },
      {
        ...{ type: "message", role: "assistant", status: "completed", id: "msg_1" },
        content: [{ type: "output_text", text: "Let me see." }],
      },
      {
        type: "function_call",
        id: "fc_1",
        callId: "c1",
        name: "find",
        status: "completed",
        arguments: '{"to":"harbour"}',
      },
      { type: "function_call_result", callId: "c1", name: "find", status: "completed", output: "8" },
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Line 8." }],
      },
    ] as AgentInputItem[]);
    const { messages, lost } = fromAgentItems(await new ScrollbackSession({ stores, sessionId }).getItems());
    expect(lost).toEqual([{ index: 3, path: "id", effect: "dropped" }]);
    return messages;
  },
};

/** Converts to each framework, checked by its own schema, and back to messages. */
const readers = {
  "the AI SDK's models": async (chat: ChatMessage[]) => {
    const { messages } = toModelMessages(chat);
    for (const message of messages) expect(modelMessageSchema.safeParse(message).error).toBe(undefined);
    return fromModelMessages(messages).messages;
  },
  "the AI SDK's useChat": async (chat: ChatMessage[]) => {
    const { messages } = toUIMessages(chat);
    expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
    return fromUIMessages(messages).messages;
  },
  LangChain: async (chat: ChatMessage[]) => {
    const { messages } = toLangChainMessages(chat);
    expect(messages.every((message) => BaseMessage.isInstance(message))).toBe(true);
    return fromLangChainMessages(messages).messages;
  },
  "OpenAI Agents": async (chat: ChatMessage[]) => {
    const { messages } = toAgentItems(chat);
    for (const item of messages) expect(protocol.ModelItem.safeParse(item).error).toBe(undefined);
    return fromAgentItems(messages).messages;
  },
};

/** The texts, calls and results. */
const storyOf = (messages: readonly ChatMessage[]) =>
  messages.flatMap(({ role, content }) =>
    (typeof content === "string" ? [{ type: "text", text: content }] : content).map((part) => {
      const { type, text, toolCallId, toolName, input, output } = part as Record<string, unknown>;
      return [role, type, text ?? toolCallId, toolName, input ?? output].filter((one) => one !== undefined);
    }),
  );

const story = [
  ["system", "text", "Be short."],
  ["user", "text", "Which tram?"],
  ["assistant", "text", "Let me see."],
  ["assistant", "tool-call", "c1", "find", { to: "harbour" }],
  ["tool", "tool-result", "c1", "find", { type: "text", value: "8" }],
  ["assistant", "text", "Line 8."],
];

describe.each(["memory:", "sqlite:"])("on %s", (backend) => {
  test.each(Object.keys(writers) as (keyof typeof writers)[])(
    "written by %s, read by all",
    async (writer) => {
      const url = backend === "memory:" ? backend : `sqlite:${join(folder, "chats.db")}`;
      await using stores = await openStores(url);
      const chat = await writers[writer](stores, writer);
      expect(storyOf(chat)).toEqual(story);
      for (const [reader, read] of Object.entries(readers))
        expect(storyOf(await read(chat)), reader).toEqual(story);
    },
  );
});
