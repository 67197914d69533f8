/**
 * The client of a chat handler: a transport for `useChat`, whose requests contain one message, the one to be answered, and the
 * user's decisions about tool calls that the server does not have yet; and a function for each other route.
 * Runs in browsers and on servers.
 *
 * @packageDocumentation
 */

import {
  DefaultChatTransport,
  type HttpChatTransportInitOptions,
  isToolUIPart,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { lastUserId, parentIdOf } from "./parent-id.ts";

export { type ChatClient, ChatClientError, chatClient, type LoadedChat } from "./chat-client.ts";

/** The options of {@link chatTransport}. */
interface ChatTransportOptions<UI extends UIMessage> extends HttpChatTransportInitOptions<UI> {
  /**
   * Returns the messages that the tab has loaded last, as the same array until it loads again. An edit or a regeneration that drops
   * later questions is refused with `CONFLICT` unless the tab has loaded or sent the newest one.
   */
  messages?(chatId: string): readonly UI[];
}

/**
 * A transport for `useChat` that sends one message with each request, instead of all messages. For browsers and servers.
 *
 * @example
 * const chat = useChat({ id, messages, resume: true, transport: chatTransport({ messages: () => messages }) });
 */
export function chatTransport<UI extends UIMessage>({
  messages: loadedMessages,
  ...options
}: ChatTransportOptions<UI> = {}): DefaultChatTransport<UI> {
  /** By chat: the messages that were loaded last, and what the server has of them and of later requests. */
  const known = new Map<string, Known<UI>>();
  const knownOf = (chatId: string) => {
    const loaded = loadedMessages?.(chatId);
    const found = known.get(chatId);
    if (found && found.loaded === loaded) return found;
    const fresh = {
      loaded,
      lastUserMessageId: loaded && lastUserId(loaded),
      outputs: outputsIn(loaded ?? []),
      failed: new Map<string, string | undefined>(),
    };
    known.set(chatId, fresh);
    return fresh;
  };
  /** Remembers the outputs that the server sends. */
  const watched = (chatId: string, stream: ReadableStream<UIMessageChunk>) =>
    stream.pipeThrough(
      new TransformStream<UIMessageChunk, UIMessageChunk>({
        transform(chunk, controller) {
          if (chunk.type === "tool-output-available" || chunk.type === "tool-output-error")
            knownOf(chatId).outputs.add(chunk.toolCallId);
          controller.enqueue(chunk);
        },
      }),
    );
  const transport = new DefaultChatTransport<UI>({
    prepareSendMessagesRequest({ id, messages, trigger: asked, messageId: askedId, body }) {
      const { outputs, failed, lastUserMessageId: newest } = knownOf(id);
      const last = messages.at(-1);
      // A retry of a question that the server does not have asks it again.
      const isRetry = asked === "regenerate-message" && last !== undefined && failed.has(last.id);
      const trigger = isRetry ? "submit-message" : asked;
      const messageId = isRetry ? failed.get(last.id) : askedId;
      const found = messageId === undefined ? -1 : messages.findIndex((message) => message.id === messageId);
      const index = found < 0 ? messages.length - 1 : found;
      const message = messages[index];
      const isStored = (one: UI) => !failed.has(one.id) || failed.get(one.id) !== undefined;
      const before = messages.slice(0, Math.max(index, 0)).filter(isStored);
      const decided = decidedAnswer(before.at(-1), outputs);
      const about =
        trigger === "regenerate-message"
          ? {}
          : {
              ...(decided && message?.role === "user" ? { messages: [decided, message] } : { message }),
              parentId: parentIdOf(before, before.length),
            };
      const isDropping = trigger === "regenerate-message" || messageId !== undefined;
      // `useChat` has removed the dropped messages from the list already.
      const lastUserMessageId = newest ?? lastUserId(messages);
      return {
        body: {
          ...(isDropping && lastUserMessageId !== undefined && { lastUserMessageId }),
          ...{ ...body, id, trigger, ...(messageId !== undefined && { messageId }), ...about },
        },
      };
    },
    ...options,
  });
  const send = transport.sendMessages.bind(transport);
  transport.sendMessages = async (request) => {
    const { chatId, messages, trigger, messageId } = request;
    const sent = messages.find(({ id }) => id === messageId) ?? messages.at(-1);
    const chat = knownOf(chatId);
    const stream = await send(request).catch((error) => {
      if (trigger === "submit-message" && sent?.role === "user") chat.failed.set(sent.id, messageId);
      throw error;
    });
    if (sent) chat.failed.delete(sent.id);
    chat.lastUserMessageId = lastUserId(messages);
    for (const toolCallId of outputsIn(messages)) chat.outputs.add(toolCallId);
    return watched(chatId, stream);
  };
  const reconnect = transport.reconnectToStream.bind(transport);
  transport.reconnectToStream = async (request) => {
    const stream = await reconnect(request);
    return stream && watched(request.chatId, stream);
  };
  return transport;
}

interface Known<UI extends UIMessage> {
  readonly loaded: readonly UI[] | undefined;
  lastUserMessageId: string | undefined;
  /** The questions whose requests failed, so that the server does not have them, with the ids of the messages that they edit. */
  readonly failed: Map<string, string | undefined>;
  /** The ids of the tool calls whose outputs the server has. */
  readonly outputs: Set<string>;
}

function outputsIn(messages: readonly UIMessage[]): Set<string> {
  return new Set(
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (isToolUIPart(part) && hasOutput(part) ? part.toolCallId : [])),
    ),
  );
}

function hasOutput({ state }: { readonly state: string }): boolean {
  return state === "output-available" || state === "output-error";
}

/** An answer with only the calls that the user has decided and the server does not know of; undefined if there are none. */
function decidedAnswer(message: UIMessage | undefined, known: ReadonlySet<string>): UIMessage | undefined {
  if (message?.role !== "assistant") return undefined;
  const parts = message.parts.filter(
    (part) =>
      isToolUIPart(part) &&
      (part.state === "approval-responded" || (hasOutput(part) && !known.has(part.toolCallId))),
  );
  return parts.length > 0 ? { id: message.id, role: message.role, parts } : undefined;
}
