/**
 * The transport of `useChat` for a chat handler. Each request contains one message, the one to be answered.
 * Runs in browsers and on servers.
 *
 * @packageDocumentation
 */

import { DefaultChatTransport, type HttpChatTransportInitOptions, type UIMessage } from "ai";
import { parentIdOf } from "./parent-id.ts";

/**
 * A transport for `useChat` that sends one message with each request, instead of all messages. For browsers and servers.
 *
 * @example
 * const chat = useChat({ id, messages, resume: true, transport: chatTransport() });
 */
export function chatTransport<UI extends UIMessage>(
  options: HttpChatTransportInitOptions<UI> = {},
): DefaultChatTransport<UI> {
  return new DefaultChatTransport<UI>({
    prepareSendMessagesRequest({ id, messages, trigger, messageId, body }) {
      const found = messageId === undefined ? -1 : messages.findIndex((message) => message.id === messageId);
      const index = found < 0 ? messages.length - 1 : found;
      const about =
        trigger === "regenerate-message"
          ? {}
          : { message: messages[index], parentId: parentIdOf(messages, index) };
      return { body: { ...body, id, trigger, ...(messageId !== undefined && { messageId }), ...about } };
    },
    ...options,
  });
}
