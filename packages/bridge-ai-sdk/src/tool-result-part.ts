import { type ToolPart, withPartFields } from "./tool-parts.ts";

/** The result of a tool call as a message of a model holds it. */
export interface StoredResult {
  readonly output: unknown;
  readonly isError?: boolean | undefined;
  readonly providerOptions?: unknown;
}

/** A tool call with its result. `lost`: the result has a form that a UI message has not. */
export function withResult(
  part: ToolPart,
  { output, isError, providerOptions }: StoredResult,
): { part: ToolPart; lost: boolean } {
  const { type, value, reason } = Object(output) as { type?: unknown; value?: unknown; reason?: unknown };
  const metadata = providerOptions === undefined ? {} : { resultProviderMetadata: providerOptions };
  const failed = (error: unknown) =>
    withPartFields(part, { ...metadata, state: "output-error", errorText: errorTextOf(error) });
  const given = (result: unknown) =>
    isError
      ? failed(result)
      : withPartFields(part, { ...metadata, state: "output-available", output: result });
  switch (type) {
    case "text":
    case "json":
      return { part: given(value), lost: false };
    case "content":
      return { part: given(value), lost: true };
    case "error-text":
    case "error-json":
      return { part: failed(value), lost: type === "error-json" };
    case "execution-denied":
      return part.approval
        ? {
            part: withPartFields(part, {
              state: "output-denied",
              approval: { ...part.approval, approved: false, ...(typeof reason === "string" && { reason }) },
            }),
            lost: false,
          }
        : { part: failed(reason ?? "Tool call execution denied."), lost: true };
    default:
      return { part: given(output), lost: false };
  }
}

function errorTextOf(error: unknown): string {
  return typeof error === "string" ? error : JSON.stringify(error);
}
