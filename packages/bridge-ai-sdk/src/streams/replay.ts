import { getToolName, type UIMessage, type UIMessageChunk } from "ai";
import { isToolPart, type ToolPart, type UIPart } from "../convert/tool-parts.ts";
import { ERROR_TEXT } from "./contained-stream.ts";

/** The chunks from which a client builds the parts of a message. */
function chunksOf({ parts }: UIMessage): UIMessageChunk[] {
  return parts.flatMap((part, index) => partChunks(part, `replay-${index}`));
}

/** A finished answer as a stream. */
export function replayedAnswer(
  message: UIMessage,
  ending: { readonly status: string; readonly error?: string },
): ReadableStream<UIMessageChunk> {
  const last: UIMessageChunk[] =
    ending.status === "failed"
      ? [{ type: "error", errorText: ending.error ?? ERROR_TEXT }]
      : [{ type: ending.status === "stopped" ? "abort" : "finish" }];
  return ReadableStream.from([startOf(message), ...chunksOf(message), ...last]);
}

/** Adds, after the first chunk, the parts that an answer had before it was continued: a late listener does not have them. */
export function withPrelude(
  loading: Promise<UIMessage | undefined>,
): TransformStream<UIMessageChunk, UIMessageChunk> {
  let isFirst = true;
  return new TransformStream({
    async transform(chunk, controller) {
      const message = isFirst ? await loading : undefined;
      if (message) for (const one of [startOf(message), ...chunksOf(message)]) controller.enqueue(one);
      if (!isFirst || chunk.type !== "start") controller.enqueue(chunk);
      else if (chunk.messageMetadata !== undefined)
        controller.enqueue({ type: "message-metadata", messageMetadata: chunk.messageMetadata });
      isFirst = false;
    },
  });
}

function startOf({ id, metadata }: UIMessage): UIMessageChunk {
  return { type: "start", messageId: id, ...(metadata !== undefined && { messageMetadata: metadata }) };
}

function partChunks(part: UIPart, id: string): UIMessageChunk[] {
  if (isToolPart(part)) return toolChunks(part);
  switch (part.type) {
    case "text": {
      const { text, citations, state, providerMetadata } = part;
      const metadata = providerMetadata && { providerMetadata };
      const start: UIMessageChunk[] = [
        { type: "text-start", id, ...metadata },
        { type: "text-delta", id, delta: text },
      ];
      return state === "streaming"
        ? start
        : [...start, { type: "text-end", id, ...(citations && { citations }) }];
    }
    case "reasoning": {
      const { text, state, providerMetadata } = part;
      const own = part.id ?? id;
      const start: UIMessageChunk[] = [
        { type: "reasoning-start", id: own, ...(providerMetadata && { providerMetadata }) },
        { type: "reasoning-delta", id: own, delta: text },
      ];
      return state === "streaming" ? start : [...start, { type: "reasoning-end", id: own }];
    }
    case "step-start":
      return [{ type: "start-step" }];
    default:
      // Sources, files, custom, data and steering parts have the fields of their chunks.
      return [part as UIMessageChunk];
  }
}

function toolChunks(part: ToolPart): UIMessageChunk[] {
  const { toolCallId, callProviderMetadata, state } = part;
  const call = {
    ...pick(part, ["toolCallId", "title", "toolMetadata", "providerExecuted"]),
    toolName: getToolName(part),
    ...(part.type === "dynamic-tool" && { dynamic: true }),
    ...(callProviderMetadata && { providerMetadata: callProviderMetadata }),
  };
  if (state === "input-streaming") {
    const { rawInput, inputEncoding } = part;
    const start = {
      ...call,
      type: "tool-input-start",
      ...(inputEncoding && { inputEncoding }),
    } as UIMessageChunk;
    return rawInput ? [start, { type: "tool-input-delta", toolCallId, inputTextDelta: rawInput }] : [start];
  }
  // A client refuses chunks without these fields; in JSON, undefined is absent.
  const available = { ...call, type: "tool-input-available", input: part.input ?? null } as UIMessageChunk;
  return [available, ...approvalChunks(part), ...resultChunks(part)];
}

function approvalChunks({ toolCallId, approval }: ToolPart): UIMessageChunk[] {
  if (!approval) return [];
  const { id: approvalId, descriptor, requestReason, approved, reason } = approval;
  const request: UIMessageChunk = {
    type: "tool-approval-request",
    ...{ approvalId, toolCallId },
    ...pick(approval, ["inputSchemaInput", "isAutomatic", "signature"]),
    ...(descriptor !== undefined && { approvalDescriptor: descriptor }),
    ...(requestReason !== undefined && { reason: requestReason }),
  };
  if (approved === undefined) return [request];
  const response = { approvalId, approved, ...(reason !== undefined && { reason }) };
  return [request, { type: "tool-approval-response", ...response }];
}

function resultChunks(part: ToolPart): UIMessageChunk[] {
  const { toolCallId, state } = part;
  if (state === "output-denied") return [{ type: "tool-output-denied", toolCallId }];
  if (state !== "output-available" && state !== "output-error") return [];
  const { resultProviderMetadata } = part;
  const result = { toolCallId, ...(resultProviderMetadata && { providerMetadata: resultProviderMetadata }) };
  if (state === "output-error") return [{ ...result, type: "tool-output-error", errorText: part.errorText }];
  return [
    { ...result, type: "tool-output-available", output: part.output ?? null, ...pick(part, ["preliminary"]) },
  ];
}

/** The fields of an object that are not undefined. */
function pick<T extends object, K extends keyof T>(value: T, keys: readonly K[]): Partial<Pick<T, K>> {
  return Object.fromEntries(
    keys.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]])),
  ) as Partial<Pick<T, K>>;
}
