/**
 * The transport of `useChat` for a chat handler. Each request contains one message, the one to be answered.
 * Runs in browsers and on servers.
 *
 * @packageDocumentation
 */

import { DefaultChatTransport, type HttpChatTransportInitOptions, type UIMessage } from "ai";
import { lastUserId, parentIdOf } from "./parent-id.ts";

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
  /** By chat: the messages that were loaded last, and the newest question in them or in a later request. */
  const known = new Map<
    string,
    { loaded: readonly UI[] | undefined; lastUserMessageId: string | undefined }
  >();
  const knownOf = (chatId: string) => {
    const loaded = loadedMessages?.(chatId);
    const found = known.get(chatId);
    if (found && found.loaded === loaded) return found;
    const fresh = { loaded, lastUserMessageId: loaded && lastUserId(loaded) };
    known.set(chatId, fresh);
    return fresh;
  };
  const transport = new DefaultChatTransport<UI>({
    prepareSendMessagesRequest({ id, messages, trigger, messageId, body }) {
      const found = messageId === undefined ? -1 : messages.findIndex((message) => message.id === messageId);
      const index = found < 0 ? messages.length - 1 : found;
      const about =
        trigger === "regenerate-message"
          ? {}
          : { message: messages[index], parentId: parentIdOf(messages, index) };
      const isDropping = trigger === "regenerate-message" || messageId !== undefined;
      // `useChat` has removed the dropped messages from the list already.
      const lastUserMessageId = knownOf(id).lastUserMessageId ?? lastUserId(messages);
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
    const stream = await send(request);
    knownOf(request.chatId).lastUserMessageId = lastUserId(request.messages);
    return stream;
  };
  return transport;
}
