import { plainJson, type toolOutput } from "@scrollback/store-core/internal";
import { type ToolPart, withPartFields } from "./tool-parts.ts";

/** A tool call with its result. `isChanged`: the UI message has the result in another form. */
export function withResult(
  part: ToolPart,
  output: ReturnType<typeof toolOutput>["output"],
  metadata: object,
): { part: ToolPart; isChanged: boolean } {
  const given = (result: unknown) =>
    withPartFields(part, { ...metadata, state: "output-available", output: result });
  const failed = (errorText: string) =>
    withPartFields(part, { ...metadata, state: "output-error", errorText });
  switch (output.type) {
    case "text":
      return { part: given(output.value), isChanged: false };
    case "json":
      // A string result is read as text, and undefined is removed.
      return { part: given(output.value ?? null), isChanged: isTextOrAbsent(output.value) };
    case "content":
      return { part: given(output.value), isChanged: true };
    case "error-text":
      return { part: failed(output.value), isChanged: false };
    case "error-json":
      return { part: failed(errorTextOf(output.value)), isChanged: true };
    case "execution-denied": {
      if (!part.approval)
        return { part: failed(output.reason ?? "Tool call execution denied."), isChanged: true };
      const { reason } = output;
      const approval = { ...part.approval, approved: false, ...(reason !== undefined && { reason }) };
      const isChanged = reason !== undefined && "reason" in part.approval && part.approval.reason !== reason;
      return { part: withPartFields(part, { state: "output-denied", approval }), isChanged };
    }
  }
}

function isTextOrAbsent(value: unknown): boolean {
  return typeof value === "string" || value === undefined;
}

function errorTextOf(error: unknown): string {
  return typeof error === "string" ? error : JSON.stringify(plainJson(error).value);
}
