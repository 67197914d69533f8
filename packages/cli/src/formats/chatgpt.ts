import {
  type Conversation,
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

/** The mark-up of citations, which only ChatGPT resolves: private characters around a name and its arguments. */
const citations = /\ue200[^\ue200\ue201]*\ue201/g;
/** The user's instructions, which ChatGPT stores as hidden messages. */
const contexts: readonly unknown[] = ["user_editable_context", "model_editable_context"];

/** Reads an element of `conversations.json`. */
export function readChatGpt(value: Fields, leftOut: LeftOut): Conversation {
  const id = idAt(value.conversation_id ?? value.id, "conversation_id");
  const nodes = new Map<string, unknown>(Object.entries(fieldsAt(value.mapping, "mapping")));
  const last = value.current_node ?? [...nodes.keys()].at(-1);
  const path = last == null ? [] : pathTo(idAt(last, "current_node"), nodes, ({ parent }) => parent);
  const current = new Set(path);
  const others = [...nodes].filter(([key, node]) => !current.has(key) && isShown(fieldsOf(node).message));
  leftOut.add("messages of other branches", others.length);
  return {
    id,
    title: textOr(value.title, undefined),
    createdAt: timeOf(value.create_time),
    updatedAt: timeOf(value.update_time),
    archived: value.is_archived === true,
    pinned: value.is_starred === true,
    messages: messagesOf(path, nodes, value.default_model_slug, leftOut),
  };
}

/** The messages of a path. All that follows a user's message is one answer. */
function messagesOf(
  path: readonly string[],
  nodes: ReadonlyMap<string, unknown>,
  defaultModel: unknown,
  leftOut: LeftOut,
): ConversationMessage[] {
  const messages: (ConversationMessage | undefined)[] = [];
  let answer: { id: string; parts: MessageParts; createdAt: number | undefined; model: unknown } | undefined;
  const endAnswer = () => {
    if (answer) messages.push(messageOf(answer.id, "assistant", answer.parts, answer));
    answer = undefined;
  };
  for (const id of path) {
    const { message } = fieldsOf(nodes.get(id));
    if (message == null) continue;
    const fields = fieldsAt(message, `message ${quoted(id)}`);
    if (!isShown(fields)) {
      leftOut.add("hidden and system messages");
      continue;
    }
    const isUser = fieldsOf(fields.author).role === "user";
    const createdAt = timeOf(fields.create_time);
    if (isUser) endAnswer();
    const parts: MessageParts = isUser
      ? new MessageParts(leftOut)
      : (answer?.parts ?? new MessageParts(leftOut));
    addContent(parts, id, fields);
    const { model_slug: slug } = fieldsOf(fields.metadata);
    if (isUser) messages.push(messageOf(id, "user", parts, { createdAt }));
    else if (answer) answer.model = slug ?? answer.model;
    else answer = { id, parts, createdAt, model: slug ?? defaultModel };
  }
  endAnswer();
  return messages.filter((message) => message !== undefined);
}

/** Whether ChatGPT shows a message. */
function isShown(message: unknown): boolean {
  const { author, metadata, content } = fieldsOf(message);
  const { role } = fieldsOf(author);
  return (
    (role === "user" || role === "assistant" || role === "tool") &&
    fieldsOf(metadata).is_visually_hidden_from_conversation !== true &&
    !contexts.includes(fieldsOf(content).content_type)
  );
}

function addContent(parts: MessageParts, id: string, message: Fields): void {
  const where = `content of message ${quoted(id)}`;
  const content = fieldsAt(message.content, where);
  const { role, name } = fieldsOf(message.author);
  const { attachments } = fieldsOf(message.metadata);
  parts.leave("attachments", Array.isArray(attachments) ? attachments.length : 0);
  const { content_type: type } = content;
  if (type === "thoughts") {
    for (const thought of listAt(content.thoughts, `${where}: thoughts`)) {
      const { summary, content: text } = fieldsOf(thought);
      parts.reasoning([summary, text].filter((one) => typeof one === "string" && one !== "").join("\n\n"));
    }
    return;
  }
  const text = textOf(parts, content, where);
  if (text === undefined) parts.leave(`content of the type ${textOr(type, "unknown").slice(0, 50)}`);
  else if (role === "tool") addResult(parts, textOr(name, "tool"), text, type);
  else if (role === "assistant" && isCall(message))
    parts.call(undefined, String(message.recipient), callInput(content, text));
  else if (type === "code") parts.text(`\`\`\`${language(content)}\n${text}\n\`\`\``);
  else parts.text(withoutCitations(parts, text));
}

/** An empty result, as beside an image, ends its call all the same. */
function addResult(parts: MessageParts, name: string, text: string, type: unknown): void {
  parts.result(undefined, name, text, type === "system_error");
}

/** A message to a tool, and not to all. */
function isCall({ recipient }: Fields): boolean {
  return typeof recipient === "string" && recipient !== "" && recipient !== "all";
}

/** Arguments in JSON, or code. */
function callInput(content: Fields, text: string): Fields {
  if (typeof jsonOr(text) === "object") return inputOf(text);
  const name = language(content);
  return { ...(name !== "" && { language: name }), code: text };
}

function language({ language: name }: Fields): string {
  return typeof name === "string" && /^[\w+#-]+$/.test(name) && name !== "unknown" ? name : "";
}

/** The text of a content; undefined for a content that has none. */
function textOf(parts: MessageParts, content: Fields, where: string): string | undefined {
  if (content.parts !== undefined) {
    const texts = listAt(content.parts, `${where}: parts`).map((part) => {
      if (typeof part === "string") return part;
      const { text, content_type: type } = fieldsOf(part);
      // A transcription has a text, the audio beside it has none.
      if (typeof text !== "string") parts.leave(textOr(type, "unknown part").slice(0, 50));
      return textOr(text, "");
    });
    return texts.filter((text) => text !== "").join("\n");
  }
  return textOr(content.text, textOr(content.result, undefined));
}

function withoutCitations(parts: MessageParts, text: string): string {
  const found = text.match(citations);
  if (!found) return text;
  parts.leave("citations", found.length);
  return text.replace(citations, "");
}
