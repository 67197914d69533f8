import { invalid, isObject } from "@scrollback/store-core/driver";
import type { UIMessage } from "ai";
import { isOlderMessage, isOlderPart, uiMessageProblem } from "./message-traits.ts";
import type { UIPart } from "./tool-parts.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The states of a tool call, by those of AI SDK 4. */
const toolStates: Readonly<Record<string, string>> = {
  "partial-call": "input-streaming",
  call: "input-available",
  result: "output-available",
};

/**
 * Converts UI messages of AI SDK 4 to those of AI SDK 5 and later, which are returned unchanged. Content, tool invocations,
 * reasoning, sources, files and attachments become parts, also beside `parts` that lack them. `createdAt`, `annotations` and `data` of a
 * message become fields of its metadata; fields that AI SDK 4 does not define stay. A message without an id gets an empty one.
 *
 * @throws StoreError `INVALID_ARGUMENT` that names the first value that is a UI message of neither, or has no counterpart: a message of the
 *   role `"data"`, for example.
 * @example
 * const messages = upgradeUIMessages(JSON.parse(await readFile(".chats/abc.json", "utf8")));
 */
export function upgradeUIMessages<UI extends UIMessage = UIMessage>(messages: unknown): UI[] {
  if (!Array.isArray(messages)) return invalid("upgradeUIMessages: messages must be an array");
  return messages.map((message: unknown, index) => {
    const where = `upgradeUIMessages: messages[${index}]`;
    const made = isOlder(message) ? upgraded(message, where) : message;
    const problem = uiMessageProblem(made);
    return problem === undefined ? (made as UI) : invalid(`${where}: ${problem}`);
  });
}

/** Whether a message has anything of AI SDK 4, which wrote the text of parts as content, too. */
function isOlder(message: unknown): message is Fields {
  const { content, reasoning } = Object(message) as Fields;
  return isOlderMessage(message) || typeof content === "string" || typeof reasoning === "string";
}

function upgraded(message: Fields, where: string): Record<string, unknown> {
  const { id = "", role, content, reasoning, toolInvocations, parts, ...others } = message;
  const {
    createdAt,
    annotations,
    data,
    experimental_attachments: attachments = [],
    metadata,
    ...rest
  } = others;
  if (role === "data") invalid(`${where}: the role "data" of AI SDK 4 has no counterpart`);
  for (const name of ["function_call", "tool_calls"])
    if (message[name] !== undefined) invalid(`${where}.${name} is of AI SDK 3, and has no counterpart`);
  const kept = Object.entries({ createdAt, annotations, data }).filter(([, value]) => value != null);
  const all = { ...Object(metadata), ...Object.fromEntries(kept) };
  const invocations = listOf(toolInvocations ?? [], `${where}.toolInvocations`) as readonly Fields[];
  const given = listOf(parts ?? [], `${where}.parts`).map((part) => withResult(part as Fields, invocations));
  const calls = new Set(given.map(callIdOf));
  const older = [
    ...(hasText(given, "reasoning", reasoning) ? [] : [{ type: "reasoning", reasoning }]),
    ...given,
    ...invocations
      .filter(({ toolCallId }) => toolCallId === undefined || !calls.has(toolCallId))
      .map((toolInvocation) => ({ type: "tool-invocation", toolInvocation })),
    ...(hasText(given, "text", content) ? [] : [{ type: "text", text: content }]),
  ];
  return {
    ...rest,
    id,
    role,
    ...(Object.keys(all).length > 0 && { metadata: all }),
    parts: [
      ...older.map((part, index) => upgradedPart(part, `${where}.parts[${index}]`)),
      ...listOf(attachments, `${where}.experimental_attachments`).map((one) => fileOf(one, where)),
    ],
  };
}

/** Whether parts have all of a text: content is that of all steps, or of the last one. */
function hasText(parts: readonly Fields[], type: "text" | "reasoning", text: unknown): boolean {
  if (typeof text !== "string" || text === "") return true;
  const texts = parts.filter((part) => part.type === type).map((part) => part.text ?? part.reasoning);
  return texts.join("").includes(text);
}

/** The id of a part's tool call, of AI SDK 4 or later. */
function callIdOf({ toolCallId, toolInvocation }: Fields): unknown {
  return toolCallId ?? (Object(toolInvocation) as Fields).toolCallId;
}

/** A part whose call has its result only beside the parts gets the result. */
function withResult(part: Fields, invocations: readonly Fields[]): Fields {
  if (part.type !== "tool-invocation" || (Object(part.toolInvocation) as Fields).state === "result")
    return part;
  const found = invocations.find(
    ({ toolCallId, state }) => toolCallId === callIdOf(part) && state === "result",
  );
  return found ? { ...part, toolInvocation: found } : part;
}

function upgradedPart(part: unknown, where: string): UIPart {
  if (!isOlderPart(part)) return part as UIPart;
  const { type } = part;
  switch (type) {
    case "tool-invocation": {
      const { toolCallId, toolName, args, state, result } = Object(part.toolInvocation) as Fields;
      const made = toolStates[String(state)];
      if (typeof toolCallId !== "string" || typeof toolName !== "string" || made === undefined)
        return invalid(`${where} must be a tool invocation of AI SDK 4`);
      const output = state === "result" ? { output: result } : {};
      return { type: `tool-${toolName}`, toolCallId, state: made, input: args, ...output } as UIPart;
    }
    case "reasoning":
      return { type, text: String(part.reasoning) } as UIPart;
    case "source": {
      const { id, url, title, sourceType } = Object(part.source) as Fields;
      if (typeof url !== "string")
        return invalid(`${where}: a source of type ${sourceType} has no counterpart`);
      return {
        type: "source-url",
        sourceId: String(id),
        url,
        ...(title !== undefined && { title }),
      } as UIPart;
    }
    default: {
      const { mimeType, data, filename } = part;
      const url = `data:${mimeType};base64,${data}`;
      return {
        type: "file",
        mediaType: mimeType,
        url,
        ...(filename !== undefined && { filename }),
      } as UIPart;
    }
  }
}

/** The file part of an attachment. */
function fileOf(attachment: unknown, where: string): Fields {
  const { url, name, contentType } = Object(attachment) as Fields;
  if (typeof url !== "string") return invalid(`${where}.experimental_attachments must have a url each`);
  const [, typeOfUrl] = /^data:([^;,]+)/.exec(url) ?? [];
  const mediaType = contentType ?? typeOfUrl ?? "application/octet-stream";
  return { type: "file", mediaType, url, ...(name != null && { filename: name }) };
}

function listOf(value: unknown, where: string): readonly unknown[] {
  return Array.isArray(value) && value.every((one) => isObject(one) === undefined)
    ? value
    : invalid(`${where} must be an array of objects`);
}
