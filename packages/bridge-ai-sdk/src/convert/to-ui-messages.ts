import type { ChatMessage, Part } from "@scrollback/store-core";
import { checkOptions } from "@scrollback/store-core/driver";
import {
  type Conversion,
  convertMessages,
  isFunction,
  type MessageLosses,
} from "@scrollback/store-core/internal";
import type { ModelMessage, UIMessage } from "ai";
import { type PartTarget, setToolField, toolFieldTypes } from "./tool-fields.ts";
import { uiPart } from "./ui-part.ts";

/**
 * Converts model messages or Scrollback messages to UI messages. An answer with its tool results becomes one UI message, with
 * `step-start` between its steps. An assistant message with an id or metadata begins a new UI message. Bytes become data URLs.
 *
 * @param options `idOf`: returns the id of a message without one, from its index. Default: `message-<index>`.
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message.
 */
export function toUIMessages(
  messages: readonly (ModelMessage | ChatMessage)[],
  options: { idOf?: (index: number) => string } = {},
): Conversion<UIMessage> {
  checkOptions("toUIMessages", options, { idOf: isFunction });
  const { idOf = (index: number) => `message-${index}` } = options;
  return convertMessages<ChatMessage, UIMessage>(
    "toUIMessages",
    messages as readonly ChatMessage[],
    (made, message, losses) => addMessage(made, message, losses, () => idOf(losses.index)),
  );
}

/** The types of parts that a UI message can contain, by role. */
const partTypes: Readonly<Record<ChatMessage["role"], ReadonlySet<string>>> = {
  system: new Set(["text"]),
  user: new Set(["text", "file", "image"]),
  assistant: new Set([
    ...["text", "reasoning", "custom", "file", "image", "reasoning-file"],
    ...["tool-call", "tool-result", "tool-approval-request"],
  ]),
  tool: new Set(["tool-result", "tool-approval-response"]),
};

/** Converts a message and adds it to `made`. Returns whether anything was added. */
function addMessage(
  made: UIMessage[],
  { role, content, id, metadata, ...unread }: ChatMessage,
  losses: MessageLosses,
  idOf: () => string,
): boolean {
  losses.unread("", unread);
  if (role === "tool") losses.unread("", { id, metadata });
  const last = made.at(-1);
  const goesOn =
    role === "assistant" && last?.role === "assistant" && id === undefined && metadata === undefined;
  const added: UIMessage["parts"] = [];
  const target: PartTarget = { made, step: added, losses };
  const parts: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  let isMade = false;
  for (const [index, part] of parts.entries()) {
    const path = `content[${index}]`;
    if (addPart(target, role, part, path)) isMade = true;
    else losses.dropped(path);
  }
  if (added.length === 0) {
    if (isMade && role !== "tool") losses.unread("", { id, metadata });
    return isMade;
  }
  const step: UIMessage["parts"] = role === "assistant" ? [{ type: "step-start" }, ...added] : added;
  if (goesOn) last.parts.push(...step);
  else
    made.push({
      id: id ?? idOf(),
      role: role as UIMessage["role"],
      ...(metadata !== undefined && { metadata }),
      parts: step,
    });
  return true;
}

function addPart(target: PartTarget, role: ChatMessage["role"], part: Part, path: string): boolean {
  if (!partTypes[role].has(part.type)) return false;
  if (toolFieldTypes.has(part.type)) return setToolField(target, part, path);
  const made = uiPart(part, path, target.losses);
  if (made) target.step.push(made);
  return made !== undefined;
}
