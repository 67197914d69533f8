import { invalid } from "@scrollback/store-core/driver";
import { asSchema, getToolName, type ToolSet, type UIMessage } from "ai";
import { assertNoReferences } from "../convert/file-references.ts";
import {
  isClientTool,
  isToolPart,
  type ToolPart,
  type UIPart,
  withPartFields,
} from "../convert/tool-parts.ts";

/** A client's decision about a tool call. */
interface Decision {
  readonly approval?: { readonly id: string; readonly approved: boolean; readonly reason?: string };
  /** In JSON, an output of undefined is absent; it is stored as null. */
  readonly output?: { readonly state: "output-available"; readonly output: unknown };
  readonly error?: { readonly state: "output-error"; readonly errorText: string };
  /** The client tools whose schema the output does not match. The stored part names the called tool. */
  readonly unfitTools?: ReadonlySet<string>;
}

/** By the id of the tool call. */
export type Decisions = ReadonlyMap<string, Decision>;

/** Reads the decisions in a client's message. The rest of the message is ignored. */
export async function decisionsOf(message: unknown, tools: ToolSet = {}): Promise<Decisions> {
  const { parts } = message as { parts?: unknown };
  const decisions = new Map<string, Decision>();
  for (const part of Array.isArray(parts) ? (parts as (ToolPart | undefined)[]) : []) {
    if (typeof part?.type !== "string" || !isToolPart(part) || typeof part.toolCallId !== "string") continue;
    decisions.set(part.toolCallId, { ...approvalOf(part), ...(await resultOf(part, tools)) });
  }
  return decisions;
}

function approvalOf({ approval }: ToolPart): Pick<Decision, "approval"> {
  const { id, approved, reason } = Object(approval) as Record<string, unknown>;
  if (typeof id !== "string" || typeof approved !== "boolean") return {};
  return { approval: { id, approved, ...(typeof reason === "string" && { reason }) } };
}

async function resultOf(part: ToolPart, tools: ToolSet): Promise<Decision> {
  const { state, output, errorText } = part;
  if (state === "output-error" && typeof errorText === "string") return { error: { state, errorText } };
  if (state !== "output-available") return {};
  const unfitTools = new Set<string>();
  for (const [name, { execute, outputSchema }] of Object.entries(tools)) {
    if (execute !== undefined || !outputSchema) continue;
    if ((await asSchema(outputSchema).validate?.(output))?.success === false) unfitTools.add(name);
  }
  return { output: { state, output: output ?? null }, unfitTools };
}

/**
 * The stored message with the client's new decisions; undefined if none is new. An approval is decided once. Outputs are accepted
 * for client tools only. If a call of an earlier step is decided, the decided calls move to a step of their own at the end: the SDK
 * runs and answers the calls of the last step only.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an output that does not match its tool's schema.
 */
export function decidedMessage<UI extends UIMessage>(
  stored: UI,
  decisions: Decisions,
  tools: ToolSet | undefined,
): UI | undefined {
  const parts = stored.parts.map((part) => (isToolPart(part) ? decidedPart(part, decisions, tools) : part));
  const isDecided = (part: UIPart, index: number) => part !== stored.parts[index];
  const first = parts.findIndex(isDecided);
  if (first < 0) return undefined;
  const isInLastStep = first > parts.findLastIndex(({ type }) => type === "step-start");
  if (isInLastStep) return { ...stored, parts };
  const others = parts.filter((part, index) => !isDecided(part, index));
  return { ...stored, parts: [...others, { type: "step-start" }, ...parts.filter(isDecided)] };
}

function decidedPart(part: ToolPart, decisions: Decisions, tools: ToolSet | undefined): ToolPart {
  const { approval, output, error, unfitTools } = decisions.get(part.toolCallId) ?? {};
  const isAnswered = part.state === "approval-requested" && approval?.id === part.approval.id;
  const answered = isAnswered
    ? withPartFields(part, { state: "approval-responded", approval: { ...part.approval, ...approval } })
    : part;
  const isOpen =
    answered.state === "input-available" ||
    (answered.state === "approval-responded" && answered.approval.approved);
  if (!isOpen || !isClientTool(part, tools)) return answered;
  if (unfitTools?.has(getToolName(part)))
    invalid(`chat: the output of the tool call ${part.toolCallId} does not match the tool's schema`);
  const result = output ?? error;
  assertNoReferences(`chat: the result of the tool call ${part.toolCallId}`, result);
  return result ? withPartFields(answered, { ...result }) : answered;
}
