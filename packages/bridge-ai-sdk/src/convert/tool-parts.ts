import {
  type DynamicToolUIPart,
  getToolName,
  isToolUIPart,
  type ToolSet,
  type ToolUIPart,
  type UIMessage,
} from "ai";

/** A tool call in a UI message. */
export type ToolPart = ToolUIPart | DynamicToolUIPart;
export type UIPart = UIMessage["parts"][number];

export function isToolPart(part: UIPart): part is ToolPart {
  return isToolUIPart(part);
}

/** Whether the client runs the tool: it is in `tools` and has no `execute`. */
export function isClientTool(part: ToolPart, tools: ToolSet = {}): boolean {
  const name = getToolName(part);
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return tool !== undefined && tool.execute === undefined && !part.providerExecuted;
}

/** A part with fields changed; undefined removes one. */
export function withPartFields(part: ToolPart, fields: Readonly<Record<string, unknown>>): ToolPart {
  const changed = Object.entries({ ...part, ...fields }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(changed) as unknown as ToolPart;
}

/** A call whose result is an error in place of an output. `fields`: further changes; undefined removes a field. */
export function failedCall(
  part: ToolPart,
  errorText: string,
  fields: Readonly<Record<string, unknown>> = {},
): ToolPart {
  return withPartFields(part, {
    ...{ state: "output-error", errorText, output: undefined, preliminary: undefined },
    ...fields,
  });
}
