import { StoreError } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import type { UIMessage } from "ai";
import { assertNoReferences } from "../convert/file-references.ts";
import { isToolPart, type UIPart, withPartFields } from "../convert/tool-parts.ts";

/**
 * Changes a client's export so that no tool call waits for a decision: a tool call that the client wrote must not run on the
 * server. Tool calls that wait for an approval, or were approved and have no result, become denied.
 *
 * @throws StoreError `INVALID_STATE` for a system message, and for values that JSON lacks. `INVALID_ARGUMENT` for references to files.
 */
export function importedChat(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // They would be applied after this check.
  if (data.types !== undefined) refuse("types must be absent; import it with the chat store in a program");
  assertNoReferences("import: the chat", data);
  const { continuations } = data;
  if (!Array.isArray(continuations)) return withClosedEntries(data);
  return { ...withClosedEntries(data), continuations: continuations.map(withClosedEntries) };
}

function withClosedEntries(data: unknown): Record<string, unknown> {
  const { entries } = Object(data) as { entries?: unknown };
  return { ...Object(data), ...(Array.isArray(entries) && { entries: entries.map(closedEntry) }) };
}

function closedEntry(entry: unknown, index: number): unknown {
  const { message } = Object(entry) as { message?: unknown };
  const { role, parts } = Object(message) as { role?: unknown; parts?: unknown };
  if (role !== "user" && role !== "assistant")
    refuse(`entries[${index}].message.role must be "user" or "assistant"`);
  if (!Array.isArray(parts)) return entry;
  for (const [at, part] of parts.entries())
    if (isObject(part) || typeof part.type !== "string")
      refuse(`entries[${index}].message.parts[${at}] must be a part`);
  return { ...Object(entry), message: { ...Object(message), parts: (parts as UIPart[]).map(closedPart) } };
}

function closedPart(part: UIPart): UIMessage["parts"][number] {
  if (!isToolPart(part)) return part;
  if (part.state !== "approval-requested" && part.state !== "approval-responded") return part;
  return withPartFields(part, {
    state: "output-denied",
    approval: { ...part.approval, approved: false },
  });
}

function refuse(problem: string): never {
  throw new StoreError("INVALID_STATE", `import: ${problem}`);
}
