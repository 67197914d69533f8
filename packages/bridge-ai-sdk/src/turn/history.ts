import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { modelHistory, reportOnce, reportUnpaired } from "@scrollback/store-core/internal";
import { convertToModelMessages, getToolName, type ModelMessage, type ToolSet, type UIMessage } from "ai";
import { withoutNulls } from "../convert/null-fields.ts";
import { type ReportTarget, withoutGoneFiles, withoutUnsendableFiles } from "../convert/old-files.ts";
import { sendableParts } from "../convert/sendable-parts.ts";
import { isToolPart, type ToolPart, type UIPart } from "../convert/tool-parts.ts";
import type { UIOptions } from "../convert/ui-messages.ts";
import type { MessageOptions } from "../options.ts";
import { validated } from "./user-message.ts";

/**
 * Stored messages in the form that the SDK accepts. A part that does not match the current schemas does not make the chat
 * unusable: an optional field that is null counts as absent, a finished tool call becomes a call of a dynamic tool, any other part
 * is omitted.
 */
export async function historyOf<UI extends UIMessage>(
  messages: readonly UI[],
  options: UIOptions,
): Promise<UI[]> {
  return await Promise.all(messages.map((message) => validMessage(message, options)));
}

async function validMessage<UI extends UIMessage>(message: UI, options: UIOptions): Promise<UI> {
  const isKnown = !message.parts.some((part) => isToolPart(part) && isUnknownTool(part, options));
  const [valid] = (isKnown && (await validated(message, options))) || [];
  if (valid) return valid as UI;
  const parts = await Promise.all(message.parts.map((part) => validParts(part, options)));
  const [withMetadata] = (await validated({ ...message, role: "assistant", parts: [] }, options)) ?? [];
  const { metadata, ...rest } = message;
  return { ...rest, parts: parts.flat(), ...(withMetadata && { metadata }) } as UI;
}

async function validParts(part: UIPart, options: UIOptions): Promise<UIPart[]> {
  const { tools, dataSchemas } = options;
  // With its tools, the SDK replaces the output of a tool that is not among them.
  const isUnknown = isToolPart(part) && isUnknownTool(part, options);
  const as = async (one: UIPart) =>
    await validated(
      { id: "part", role: "assistant", parts: [one] },
      { ...(tools && !isUnknown && { tools }), ...(dataSchemas && { dataSchemas }) },
    );
  const given = await as(part);
  if (given) return given[0]?.parts ?? [];
  const present = withoutNulls(part);
  const valid =
    (await as(present)) ??
    (isToolPart(present) && isEnded(present) ? await as(dynamicPart(present)) : undefined);
  return valid?.[0]?.parts ?? [];
}

function isUnknownTool(part: ToolPart, { tools }: UIOptions): boolean {
  return tools !== undefined && part.type !== "dynamic-tool" && !Object.hasOwn(tools, getToolName(part));
}

function isEnded({ state }: ToolPart): boolean {
  return state === "output-available" || state === "output-error" || state === "output-denied";
}

function dynamicPart(part: ToolPart): UIPart {
  return { ...part, type: "dynamic-tool", toolName: getToolName(part), dynamic: false } as UIPart;
}

/** How a history is made for a model. */
export interface HistoryOptions extends MessageOptions {
  /** The id of the answer that the model continues. */
  readonly continuedId: string | undefined;
  /** Whether the last message is new: the turn fails if its files cannot be loaded. */
  readonly isLastNew: boolean;
  /** The time in milliseconds within which the server of an older file must respond. */
  readonly fileMs: number;
  readonly target: ReportTarget;
}

/**
 * A history for the model, without what providers refuse. Approval responses are kept only in the continued message: in other
 * messages they would be calls without a result. An older file that cannot be loaded becomes a note.
 */
export async function modelMessagesOf(
  messages: readonly UIMessage[],
  { tools, fileTypes, continuedId, isLastNew, fileMs, target }: HistoryOptions,
): Promise<ModelMessage[]> {
  const unpaired: { readonly kind: "call"; readonly toolCallId: string }[] = [];
  const sendable = withoutUnsendableFiles(messages, fileTypes, target).map((message) => {
    if (message.role !== "assistant") return message;
    const isContinued = message.id === continuedId;
    const parts = sendableParts(message.parts, isContinued);
    const left = message.parts.filter((part) => isToolPart(part) && !parts.includes(part)) as ToolPart[];
    // The calls of a continued answer still wait for their results.
    if (!isContinued) unpaired.push(...left.map(({ toolCallId }) => ({ kind: "call" as const, toolCallId })));
    return { ...message, parts };
  });
  reportUnpaired(target, unpaired);
  const converted = await convertToModelMessages(sendable, { ...(tools && { tools }), ...incomplete }).catch(
    async (error) => {
      const converted = await convertToModelMessages(sendable, incomplete);
      reportOnce(target, "toModelOutput", () => failedOutput(error));
      return converted;
    },
  );
  const made = sendableMessages(converted, target, tools);
  const old = isLastNew ? made.slice(0, -1) : made;
  return [...(await withoutGoneFiles(old, fileMs, target)), ...made.slice(old.length)];
}

const incomplete = { ignoreIncompleteToolCalls: true };

function failedOutput(cause: unknown): StoreError {
  const problem =
    "toModelOutput of a tool failed for a stored output, so the model gets the outputs as they are stored";
  return new StoreError("INVALID_STATE", `history: ${problem}`, { cause });
}

/** Model messages without what a provider refuses, by the rules of `modelHistory`. */
export function sendableMessages(
  given: readonly ModelMessage[],
  target: ReportTarget,
  tools: ToolSet | undefined,
): ModelMessage[] {
  // The parts that are left are the SDK's own.
  return modelHistory(given as ChatMessage[], target, tools) as ModelMessage[];
}
