import type { ChatMessage } from "@scrollback/store-core";
import type { AgentChannel, ChatParticipant } from "../../src/group-chat/index.ts";
import type { ChannelMessage } from "../../src/group-chat/participant.ts";
import type { ChatStreamPart } from "../../src/group-chat/turn.ts";
import { lines } from "../models.ts";

/** The output of one turn of a participant: a text, or complete messages. */
export type Line = string | readonly ChatMessage[] | { error: Error };

/** A participant with the minimal interface: answers one line per turn, and keeps its input. */
export interface Actor extends ChatParticipant {
  readonly name: string;
  readonly received: ChatMessage[][];
}

/** An actor with these lines, one per turn; after the last one it answers `<name> <turn>`. */
export function actor(
  name: string,
  script: readonly Line[] = [],
  rest: Partial<Omit<ChatParticipant, "name">> = {},
): Actor {
  const received: ChatMessage[][] = [];
  return {
    id: name.toLowerCase(),
    name,
    received,
    async *invoke(messages) {
      received.push([...messages]);
      const line = script[received.length - 1] ?? `${name} ${received.length}`;
      if (typeof line === "object" && "error" in line) throw line.error;
      if (typeof line === "string") yield { role: "assistant", content: line };
      else yield* line;
    },
    ...rest,
  };
}

export const user = (content: string): ChatMessage => ({ role: "user", content });

export const call = (id: string): ChatMessage => ({
  role: "assistant",
  content: [{ type: "tool-call", toolCallId: id, toolName: "weather", input: { city: id } }],
});
export const result = (id: string): ChatMessage => ({
  role: "tool",
  content: [
    { type: "tool-result", toolCallId: id, toolName: "weather", output: { type: "text", value: "warm" } },
  ],
});

/** One line per message, `name: text`; a user without a name is `user`. */
export function dialogue(messages: readonly ChatMessage[]): string[] {
  return messages.map((message) => {
    const [line = ""] = lines([message]);
    return `${message.authorName ?? message.role}: ${line.slice(line.indexOf(": ") + 2)}`;
  });
}

/** All messages that an invoke yields, one line each. */
export async function listen(invocation: AsyncIterable<ChatMessage>): Promise<string[]> {
  const messages: ChatMessage[] = [];
  for await (const message of invocation) messages.push(message);
  return dialogue(messages);
}

/** All values that a stream yields: pieces as `name~ text`, messages as `name: text`. */
export async function watch(parts: AsyncIterable<ChatStreamPart>): Promise<string[]> {
  const seen: string[] = [];
  for await (const part of parts) {
    if (part.type === "message") seen.push(...dialogue([part.message]));
    else seen.push(`${part.authorName}~ ${part.text}`);
  }
  return seen;
}

/** The complete history, oldest first, one line per message. */
export async function told(
  chat: { getMessages(agent?: ChatParticipant): Promise<ChatMessage[]> },
  agent?: ChatParticipant,
) {
  return dialogue((await chat.getMessages(agent)).reverse());
}

/** A custom channel, which can fail and wait, and lists the received messages. */
export class OwnChannel implements AgentChannel {
  readonly key: string;
  readonly received: string[][] = [];
  /** The number of the next receipts that fail. */
  failures = 0;
  /** Receipts wait for this promise. */
  gate: Promise<void> = Promise.resolve();
  resets = 0;

  constructor(key: string) {
    this.key = key;
  }

  async receive(messages: readonly ChatMessage[]): Promise<void> {
    await this.gate;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("the receiver is out of order");
    }
    this.received.push(dialogue(messages));
  }

  async *invoke(agent: ChatParticipant): AsyncGenerator<ChannelMessage> {
    for await (const message of agent.invoke([], {})) yield { message, visible: true };
  }

  async getHistory(): Promise<ChatMessage[]> {
    return this.received.flat().map((content) => ({ role: "user", content }));
  }

  async reset(): Promise<void> {
    this.resets += 1;
  }
}

export async function take<T>(iterable: AsyncIterable<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const one of iterable) if (taken.push(one) === count) break;
  return taken;
}

/** Three agents, in their joining order. */
export const three = () => [actor("A"), actor("B"), actor("C")] as const;

/** The message of the agent with this name. */
export const message = (authorName: string, content: string): ChatMessage => ({
  role: "assistant",
  authorName,
  content,
});
