import type { MessageLosses } from "./conversion.ts";
import { plainJson } from "./conversion-json.ts";
import type { Part } from "./message.ts";

/** The result of a tool in the forms of the AI SDK. */
export type ToolOutput = (
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "json" | "error-json"; readonly value: unknown }
  | { readonly type: "content"; readonly value: readonly unknown[] }
  | { readonly type: "execution-denied"; readonly reason?: string | undefined }
) & { readonly providerOptions?: unknown };

const valueChecks: Readonly<Record<ToolOutput["type"], (fields: Record<string, unknown>) => boolean>> = {
  text: ({ value }) => typeof value === "string",
  "error-text": ({ value }) => typeof value === "string",
  json: (fields) => "value" in fields,
  "error-json": (fields) => "value" in fields,
  content: ({ value }) => Array.isArray(value),
  "execution-denied": ({ reason, ...rest }) =>
    (reason === undefined || typeof reason === "string") && !("value" in rest),
};
const keys: ReadonlySet<string> = new Set(["type", "value", "reason", "providerOptions"]);

/**
 * The output of a `ToolResultPart` in one of the AI SDK's forms. Any other value becomes `text` or `json`; with `isError`,
 * `error-text` or `error-json`.
 *
 * @returns The output, and whether its form expresses `isError`. The forms `content` and `execution-denied` cannot.
 */
export function toolOutput(part: { readonly output?: unknown; readonly isError?: boolean | undefined }): {
  output: ToolOutput;
  keepsError: boolean;
} {
  const { output } = part;
  const isError = part.isError === true;
  if (!isToolOutput(output)) {
    const prefix = isError ? "error-" : "";
    const type = `${prefix}${typeof output === "string" ? "text" : "json"}`;
    return { output: { type, value: output } as ToolOutput, keepsError: true };
  }
  if (!isError) return { output, keepsError: true };
  if (output.type === "text" || output.type === "json") {
    return { output: { ...output, type: `error-${output.type}` } as ToolOutput, keepsError: true };
  }
  return { output, keepsError: output.type.startsWith("error-") };
}

/**
 * The output of a tool result, for frameworks that keep neither provider options nor additional fields. Records both as dropped.
 *
 * @returns As {@link toolOutput}. If the output does not keep `isError`, the caller must keep it or record it as lost.
 */
export function outputOfPart(
  {
    type: _,
    toolCallId: __,
    toolName: ___,
    output,
    isError,
    ...unread
  }: Extract<Part, { type: "tool-result" }>,
  path: string,
  losses: MessageLosses,
): { output: ToolOutput; keepsError: boolean } {
  losses.unread(path, unread);
  const made = toolOutput({ output, isError });
  if (made.output.providerOptions !== undefined) losses.dropped(`${path}.output.providerOptions`);
  return made;
}

/**
 * An output other than `content` as text, for frameworks whose tools return text.
 *
 * @returns The text, whether it is an error's, and whether it was converted from a form other than text.
 */
export function textOfToolOutput(output: Exclude<ToolOutput, { type: "content" }>): {
  text: string;
  isError: boolean;
  isChanged: boolean;
} {
  switch (output.type) {
    case "text":
    case "error-text":
      return { text: output.value, isError: output.type === "error-text", isChanged: false };
    case "execution-denied":
      return { text: output.reason ?? "Tool call execution denied.", isError: true, isChanged: true };
    default: {
      const text = JSON.stringify(plainJson(output.value).value);
      return { text, isError: output.type === "error-json", isChanged: true };
    }
  }
}

/** Whether a value of a `content` output is a text or a file in the form of a message's parts. */
export function isContentPart(value: unknown): value is Extract<Part, { type: "text" | "file" }> {
  const { type, text } = Object(value) as { type?: unknown; text?: unknown };
  return type === "file" || (type === "text" && typeof text === "string");
}

function isToolOutput(output: unknown): output is ToolOutput {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return false;
  const fields = output as Record<string, unknown>;
  const check =
    Object.hasOwn(valueChecks, String(fields.type)) && valueChecks[fields.type as ToolOutput["type"]];
  return check !== false && check(fields) && Object.keys(fields).every((key) => keys.has(key));
}
