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

/** Reads an element of an export of chats. */
export function readOpenWebUi(value: Fields, leftOut: LeftOut): Conversation {
  const chat = fieldsAt(value.chat, "chat");
  const id = idAt(value.id ?? chat.id, "id");
  const nodes = nodesOf(chat);
  // The id of the current message may be missing, or that of a deleted message.
  const { currentId } = fieldsOf(chat.history);
  const current = [currentId, value.current_message_id].find((one) => nodes.has(String(one)));
  const last = current ?? [...nodes.keys()].at(-1);
  const path = last === undefined ? [] : pathTo(String(last), nodes, ({ parentId }) => parentId);
  leftOut.add("messages of other branches", nodes.size - path.length);
  return {
    id,
    title: textOr(value.title, textOr(chat.title, undefined)),
    createdAt: timeOf(value.created_at ?? chat.timestamp),
    updatedAt: timeOf(value.updated_at),
    archived: value.archived === true,
    pinned: value.pinned === true,
    messages: path
      .map((key) => readMessage(key, fieldsAt(nodes.get(key), `message ${quoted(key)}`), leftOut))
      .filter((message) => message !== undefined),
  };
}

/** The messages by id, the newest last. Old exports have a list in place of a tree. */
function nodesOf({ history, messages }: Fields): ReadonlyMap<string, unknown> {
  if (history != null) {
    const tree = fieldsAt(fieldsAt(history, "chat.history").messages, "chat.history.messages");
    return new Map(Object.entries(tree));
  }
  const nodes = new Map<string, unknown>();
  let last: string | undefined;
  for (const [index, value] of listAt(messages, "chat.messages").entries()) {
    const message = fieldsAt(value, `chat.messages[${index}]`);
    const id = textOr(message.id, `message-${index + 1}`);
    if (nodes.has(id)) throw new ConversationError(`two messages have the id ${quoted(id)}`);
    nodes.set(id, { ...message, parentId: last });
    last = id;
  }
  return nodes;
}

function readMessage(id: string, message: Fields, leftOut: LeftOut): ConversationMessage | undefined {
  const { role, error, model } = message;
  if (role !== "user" && role !== "assistant") {
    leftOut.add("hidden and system messages");
    return undefined;
  }
  const parts = new MessageParts(leftOut);
  const where = `message ${quoted(id)}`;
  for (const file of listAt(message.files, `files of ${where}`)) parts.file(fieldsOf(file).url, "files");
  parts.leave("sources", listAt(message.sources, `sources of ${where}`).length);
  const output = listAt(message.output, `output of ${where}`);
  if (output.length > 0) for (const item of output) addItem(parts, fieldsOf(item));
  else addContent(parts, message.content, where);
  const errorText = textOr(error, textOr(fieldsOf(error).content, undefined));
  if (errorText !== undefined) parts.text(errorText);
  const isFailed = error != null && error !== false;
  const createdAt = timeOf(message.timestamp);
  return messageOf(id, role, parts, { createdAt, model, status: isFailed ? "failed" : "complete" });
}

function addContent(parts: MessageParts, content: unknown, where: string): void {
  if (typeof content === "string") {
    addMarkup(parts, content);
    return;
  }
  for (const part of listAt(content, `content of ${where}`)) {
    const { type, text, image_url: image } = fieldsOf(part);
    if (type === "image_url") parts.file(fieldsOf(image).url, "files");
    else if (typeof text === "string") parts.text(text);
    else parts.leave(`content of the type ${textOr(type, "unknown").slice(0, 50)}`);
  }
}

/** An item of `output`, which has the shapes of OpenAI's Responses API. */
function addItem(parts: MessageParts, item: Fields): void {
  const { type, call_id: callId, name } = item;
  if (type === "message") parts.text(textsOf(item.content));
  else if (type === "reasoning") parts.reasoning(textsOf(item.content) || textsOf(item.summary));
  else if (type === "function_call") parts.call(callId, textOr(name, "tool"), inputOf(item.arguments));
  else if (type === "function_call_output")
    parts.result(
      callId,
      "tool",
      Array.isArray(item.output) ? jsonOr(textsOf(item.output)) : jsonOr(item.output),
    );
  else if (type === "open_webui:code_interpreter") {
    parts.call(item.id, "code_interpreter", { code: textOr(item.code, "") });
    if (item.output != null) parts.result(item.id, "code_interpreter", jsonOr(item.output));
  } else parts.leave(`content of the type ${textOr(type, "unknown").slice(0, 50)}`);
}

function textsOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => textOr(fieldsOf(part).text, "")).join("");
}

/** Text in which older versions wrote reasoning and tool calls as `<details type="…">`. Other details are the model's text. */
function addMarkup(parts: MessageParts, content: string): void {
  let text = 0;
  let at = content.indexOf("<details");
  while (at >= 0) {
    const head = content.indexOf(">", at);
    const end = head < 0 ? -1 : content.indexOf("</details>", head);
    if (end < 0) break;
    const after = end + "</details>".length;
    const fields = attributesOf(content.slice(at, head));
    if (/^(reasoning|tool_calls|code_interpreter)$/.test(fields.type ?? "")) {
      parts.text(content.slice(text, at));
      addDetails(parts, fields, content.slice(head + 1, end));
      text = after;
    }
    at = content.indexOf("<details", after);
  }
  parts.text(content.slice(text));
}

function addDetails(parts: MessageParts, fields: Record<string, string | undefined>, given: string): void {
  const summaryEnd = given.indexOf("</summary>");
  const body = unescaped(summaryEnd < 0 ? given : given.slice(summaryEnd + "</summary>".length)).trim();
  if (fields.type === "reasoning") {
    parts.reasoning(body.replace(/^> ?/gm, ""));
    return;
  }
  const isCode = fields.type === "code_interpreter";
  const name = isCode ? "code_interpreter" : (fields.name ?? "tool");
  // Arguments are JSON, perhaps in a JSON string.
  parts.call(fields.id, name, isCode ? { code: body } : inputOf(jsonOr(fields.arguments)));
  const result = fields.result ?? fields.output ?? (isCode || body === "" ? undefined : body);
  if (result !== undefined) parts.result(fields.id, name, jsonOr(jsonOr(result)));
}

function attributesOf(tag: string): Record<string, string | undefined> {
  const found = [...tag.matchAll(/\b(\w+)="([^"]*)"/g)];
  return Object.fromEntries(found.map(([, name = "", value = ""]) => [name, unescaped(value)]));
}

const entities: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  "#x27": "'",
  "#39": "'",
  amp: "&",
};

function unescaped(text: string): string {
  return text.replace(/&(lt|gt|quot|#x27|#39|amp);/g, (entity, name) => entities[name] ?? entity);
}
