import type { Part } from "@scrollback/store-core";
import { isBoolean, type MessageLosses, toolOutput } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";
import { providerOptionsOf } from "./provider-options.ts";
import { isToolPart, type ToolPart, withPartFields } from "./tool-parts.ts";
import { withResult } from "./tool-result-part.ts";

/** The targets of the parts of a message. */
export interface PartTarget {
  readonly made: readonly UIMessage[];
  /** The parts of this message so far. They are not in a converted message yet. */
  readonly step: UIMessage["parts"];
  readonly losses: MessageLosses;
}

type ToolField = Extract<Part, { type: "tool-result" | "tool-approval-request" | "tool-approval-response" }>;

/** The parts that become fields of their tool call's part. */
export const toolFieldTypes: ReadonlySet<string> = new Set<ToolField["type"]>([
  "tool-result",
  "tool-approval-request",
  "tool-approval-response",
]);

/** Sets a result or an approval in the newest tool call that waits for it. Returns false if none does. */
export function setToolField(target: PartTarget, part: Part, path: string): boolean {
  switch (part.type) {
    case "tool-result":
      return setResult(target, part, path);
    case "tool-approval-request":
      return setRequest(target, part, path);
    case "tool-approval-response":
      return setResponse(target, part, path);
    default:
      return false;
  }
}

function setResult(target: PartTarget, part: Extract<Part, { type: "tool-result" }>, path: string): boolean {
  const { type: _, toolCallId, toolName, output: given, isError, providerOptions, ...unread } = part;
  const { losses } = target;
  const { output, keepsError } = toolOutput({ output: given, isError });
  const isFailed = output.type.startsWith("error-") || output.type === "execution-denied";
  const isWaiting = (one: ToolPart) => {
    const { approval, state } = one;
    if (one.toolCallId !== toolCallId || state.startsWith("output-")) return false;
    // In a UI message, a call that waits for an approval has no result, and a denied call has only the denial.
    return approval === undefined || approval.approved === true || (approval.approved === false && isFailed);
  };
  return change(target, path, isWaiting, (one) => {
    const metadata = providerOptionsOf(providerOptions, `${path}.providerOptions`, losses);
    losses.unread(path, unread);
    if (!keepsError) losses.dropped(`${path}.isError`);
    if (one.type !== `tool-${toolName}`) losses.dropped(`${path}.toolName`);
    if (output.providerOptions !== undefined) losses.dropped(`${path}.output.providerOptions`);
    const isDenied = one.approval?.approved === false;
    if (isDenied && metadata) losses.dropped(`${path}.providerOptions`);
    const reason = output.type === "error-text" ? output.value : undefined;
    const denial = { type: "execution-denied" as const, reason };
    const result = withResult(one, isDenied && output.type !== "execution-denied" ? denial : output, {
      ...(metadata && !isDenied && { resultProviderMetadata: metadata }),
    });
    if (result.isChanged || (isDenied && output.type !== "execution-denied"))
      losses.changed(`${path}.output`);
    return result.part;
  });
}

function setRequest(
  target: PartTarget,
  part: Extract<Part, { type: "tool-approval-request" }>,
  path: string,
): boolean {
  const { type: _, approvalId, toolCallId, ...rest } = part;
  const { reason, isAutomatic, signature, inputSchemaInput, ...unread } = rest as Record<string, unknown>;
  if (typeof approvalId !== "string") return false;
  const isWaiting = (one: ToolPart) => one.toolCallId === toolCallId && one.state === "input-available";
  return change(
    target,
    path,
    isWaiting,
    (one) => {
      target.losses.unread(path, unread);
      const texts = { requestReason: reason, signature };
      const known = Object.entries(texts).filter(([, text]) => typeof text === "string");
      if (typeof reason !== "string") target.losses.unread(path, { reason });
      if (typeof signature !== "string") target.losses.unread(path, { signature });
      const isKnown = isBoolean(isAutomatic) === undefined;
      if (!isKnown) target.losses.unread(path, { isAutomatic });
      const approval = {
        id: approvalId,
        ...Object.fromEntries(known),
        ...(isKnown && { isAutomatic }),
        ...(inputSchemaInput !== undefined && { inputSchemaInput }),
      };
      return withPartFields(one, { state: "approval-requested", approval });
    },
    "last",
  );
}

function setResponse(
  target: PartTarget,
  part: Extract<Part, { type: "tool-approval-response" }>,
  path: string,
): boolean {
  const { type: _, approvalId, approved, reason, ...rest } = part;
  const { providerExecuted, ...unread } = rest as Record<string, unknown>;
  if (typeof approved !== "boolean") return false;
  const isWaiting = (one: ToolPart) => one.state === "approval-requested" && one.approval.id === approvalId;
  return change(target, path, isWaiting, (one) => {
    target.losses.unread(path, unread);
    if (providerExecuted !== one.providerExecuted) target.losses.unread(path, { providerExecuted });
    const isKnown = typeof reason === "string";
    if (!isKnown) target.losses.unread(path, { reason });
    const approval = { ...one.approval, approved, ...(isKnown && { reason }) };
    return withPartFields(one, { state: "approval-responded", approval });
  });
}

/**
 * Changes a matching tool call of the newest step that has one: the first call, because results are in the order of the calls, or
 * the last call, which a request follows. Reports a change in an earlier step, because there the field appears to have arrived
 * earlier.
 */
function change(
  { made, step, losses }: PartTarget,
  path: string,
  fits: (part: ToolPart) => boolean,
  change: (part: ToolPart) => ToolPart,
  pick: "first" | "last" = "first",
): boolean {
  const fitting = (part: UIMessage["parts"][number]) => isToolPart(part) && fits(part);
  const lists = [...made.map(({ parts }) => parts), step];
  const list = lists.findLast((parts) => parts.some(fitting)) ?? [];
  const last = list.findLastIndex(fitting);
  const start = list.slice(0, last + 1).findLastIndex(({ type }) => type === "step-start") + 1;
  const index = pick === "last" ? last : list.findIndex((part, at) => at >= start && fitting(part));
  const part = list[index];
  if (!part || !isToolPart(part)) return false;
  const newest = step.length > 0 ? step : made.at(-1)?.parts;
  const isNewest = list === newest && !list.slice(index).some(({ type }) => type === "step-start");
  list[index] = change(part);
  if (!isNewest) losses.changed(path);
  return true;
}
