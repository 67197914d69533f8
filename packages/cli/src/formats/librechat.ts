import {
  type Conversation,
  ConversationError,
  type ConversationMessage,
  type Fields,
  fieldsAt,
  fieldsOf,
  idAt,
  type LeftOut,
  listAt,
  pathTo,
  quoted,
  textOr,
  timeOf,
} from "./conversation.ts";
import { inputOf, jsonOr, MessageParts, messageOf } from "./message-parts.ts";

/** The parent of a first message. */
const NO_PARENT = "00000000-0000-0000-0000-000000000000";

/** Reads the export of a conversation: a list of messages, or a tree of them. */
export function readLibreChat(value: Fields, leftOut: LeftOut): Conversation {
  const id = idAt(value.conversationId, "conversationId");
  const nodes = nodesOf(value.messagesTree ?? value.messages);
  // The last one is the newest of the newest branches, which LibreChat shows.
  const last = [...nodes.keys()].at(-1);
  const path =
    last === undefined
      ? []
      : pathTo(last, nodes, ({ parentMessageId: parent }) => (parent === NO_PARENT ? null : parent));
  leftOut.add("messages of other branches", nodes.size - path.length);
  const { model } = fieldsOf(value.options);
  return {
    id,
    title: textOr(value.title, undefined),
    createdAt: undefined,
    updatedAt: undefined,
    archived: false,
    pinned: false,
    messages: path
      .map((key) => readMessage(key, fieldsOf(nodes.get(key)), model, leftOut))
      .filter((message) => message !== undefined),
  };
}

/** The messages by id, parents first. In a tree `children` tell the parent. */
function nodesOf(messages: unknown): Map<string, Fields> {
  if (messages === undefined) throw new ConversationError("messages must be a list");
  const nodes = new Map<string, Fields>();
  // No recursion: a tree is as deep as its conversation is long.
  const rest = listAt(messages, "messages")
    .map((value) => ({ value, parent: undefined as string | undefined }))
    .reverse();
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { children, ...message } = fieldsAt(next.value, "a message");
    const id = idAt(message.messageId, "messageId");
    if (nodes.has(id)) throw new ConversationError(`two messages have the id ${quoted(id)}`);
    const { parent } = next;
    nodes.set(id, parent === undefined ? message : { ...message, parentMessageId: parent });
    for (const child of listAt(children, `children of message ${quoted(id)}`).toReversed())
      rest.push({ value: child, parent: id });
  }
  return nodes;
}

function readMessage(
  id: string,
  message: Fields,
  defaultModel: unknown,
  leftOut: LeftOut,
): ConversationMessage | undefined {
  const parts = new MessageParts(leftOut);
  const where = `message ${quoted(id)}`;
  parts.leave("files", listAt(message.files, `files of ${where}`).length);
  parts.leave("attachments", listAt(message.attachments, `attachments of ${where}`).length);
  const content = listAt(message.content, `content of ${where}`);
  let isFailed = message.error === true;
  for (const item of content) {
    const part = fieldsOf(item);
    isFailed ||= part.type === "error";
    addPart(parts, part);
  }
  if (content.length === 0) parts.text(textOr(message.text, ""));
  const isUser = message.isCreatedByUser === true;
  return messageOf(id, isUser ? "user" : "assistant", parts, {
    createdAt: timeOf(message.createdAt),
    ...(!isUser && { model: message.model ?? defaultModel }),
    status: isFailed ? "failed" : message.unfinished === true ? "stopped" : "complete",
  });
}

function addPart(parts: MessageParts, part: Fields): void {
  const { type } = part;
  if (type === "text") parts.text(textOf(part.text));
  else if (type === "error") parts.text(textOf(part.text) || textOf(part.error));
  else if (type === "think") parts.reasoning(textOf(part.think));
  else if (type === "tool_call") addToolCall(parts, fieldsOf(part.tool_call));
  else if (type === "image_url") {
    const { image_url: image } = part;
    parts.file(fieldsOf(image).url ?? image, "image_url");
  } else parts.leave(`content of the type ${textOr(type, "unknown").slice(0, 50)}`);
}

/** A text, or a text with annotations. */
function textOf(value: unknown): string {
  return textOr(value, textOr(fieldsOf(value).value, ""));
}

/** A call of an agent, or one of OpenAI's assistants: of a function or the code interpreter. */
function addToolCall(parts: MessageParts, call: Fields): void {
  const { id, type } = call;
  const isCode = call.code_interpreter !== undefined;
  const called = fieldsOf(call.function);
  const name = textOr(call.name, textOr(called.name, isCode ? "code_interpreter" : textOr(type, "tool")));
  const code = fieldsOf(call.code_interpreter);
  const input = isCode ? { code: textOr(code.input, "") } : inputOf(call.args ?? called.arguments);
  parts.call(id, name, input);
  const output = isCode ? code.outputs : (call.output ?? called.output);
  if (output != null && output !== "") parts.result(id, name, jsonOr(output));
}
