import type { ChatMessage, Part } from "@scrollback/store-core";
import type { MessageLosses } from "@scrollback/store-core/internal";
import { getToolName } from "ai";
import type { ToolPart } from "./tool-parts.ts";

type PartOf<Type extends Part["type"]> = Extract<Part, { type: Type }>;

/** The parts of a `ChatMessage` for a tool's part of a UI message. */
export interface ChatToolParts {
  readonly call: PartOf<"tool-call">;
  readonly request?: PartOf<"tool-approval-request"> | undefined;
  readonly response?: PartOf<"tool-approval-response"> | undefined;
  readonly result?: PartOf<"tool-result"> | undefined;
}

/** The parts of a tool call; undefined for a call with an incomplete input, and for other parts. */
export function chatToolParts(
  part: ToolPart,
  path: string,
  losses: MessageLosses,
): ChatToolParts | undefined {
  const { type, toolCallId, state, input, providerExecuted, approval, ...rest } = part;
  const { toolName, rawInput, output, errorText, callProviderMetadata, resultProviderMetadata, ...unread } =
    rest as Record<string, unknown>;
  const name: unknown = type === "dynamic-tool" ? toolName : getToolName(part);
  if (typeof toolCallId !== "string" || typeof name !== "string" || !states.has(state)) return undefined;
  if (type === "dynamic-tool") losses.changed(`${path}.type`);
  losses.unread(path, unread);
  if (rawInput !== undefined) {
    if (input === undefined) losses.changed(`${path}.rawInput`);
    else losses.dropped(`${path}.rawInput`);
  }
  const call: PartOf<"tool-call"> = {
    type: "tool-call",
    toolCallId,
    toolName: name,
    input: input === undefined ? rawInput : input,
    ...(providerExecuted === true && { providerExecuted }),
    ...optionsOf(callProviderMetadata),
  };
  const made = (result: unknown): PartOf<"tool-result"> => ({
    type: "tool-result",
    toolCallId,
    toolName: name,
    output: result,
    ...optionsOf(resultProviderMetadata),
  });
  return { call, ...approvalParts(part, path, losses), result: resultOf(part, made, { output, errorText }) };
}

const states: ReadonlySet<string> = new Set<ToolPart["state"]>([
  ...(["input-available", "approval-requested", "approval-responded"] as const),
  ...(["output-available", "output-error", "output-denied"] as const),
]);

function resultOf(
  { state, approval }: ToolPart,
  made: (output: unknown) => PartOf<"tool-result">,
  { output, errorText }: { readonly output: unknown; readonly errorText: unknown },
): PartOf<"tool-result"> | undefined {
  if (state === "output-available")
    return made({ type: typeof output === "string" ? "text" : "json", value: output });
  if (state === "output-error") return made({ type: "error-text", value: String(errorText ?? "") });
  if (state !== "output-denied") return undefined;
  const { reason } = Object(approval) as { reason?: unknown };
  return made({ type: "execution-denied", ...(typeof reason === "string" && { reason }) });
}

function approvalParts(
  { toolCallId, providerExecuted, approval }: ToolPart,
  path: string,
  losses: MessageLosses,
): Pick<ChatToolParts, "request" | "response"> {
  if (approval == null) return {};
  const { id, approved, requestReason, reason, isAutomatic, signature, inputSchemaInput, ...unread } = Object(
    approval,
  ) as NonNullable<ToolPart["approval"]>;
  if (typeof id !== "string") {
    losses.dropped(`${path}.approval`);
    return {};
  }
  losses.unread(`${path}.approval`, unread);
  const extra = { reason: requestReason, isAutomatic, signature, inputSchemaInput };
  const given = Object.fromEntries(Object.entries(extra).filter(([, value]) => value !== undefined));
  const request = { type: "tool-approval-request" as const, approvalId: id, toolCallId, ...given };
  if (typeof approved !== "boolean") {
    losses.unread(`${path}.approval`, { reason });
    return { request };
  }
  const response = {
    type: "tool-approval-response" as const,
    approvalId: id,
    approved,
    ...(typeof reason === "string" && { reason }),
    ...(providerExecuted === true && { providerExecuted }),
  };
  return { request, response };
}

function optionsOf(metadata: unknown): { providerOptions?: NonNullable<ChatMessage["providerOptions"]> } {
  return metadata == null ? {} : { providerOptions: metadata as NonNullable<ChatMessage["providerOptions"]> };
}
