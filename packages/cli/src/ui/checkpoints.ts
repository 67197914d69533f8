import { shownSize } from "../output/figures.ts";
import type { MessagePart } from "./message-blocks.ts";
import { cutLine, shownText, textIn } from "./texts.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The role and the parts of a record of LangGraph's checkpoints; undefined for another message. */
export function checkpointOf(
  message: unknown,
): { readonly role: string; readonly parts: readonly MessagePart[] } | undefined {
  const { metadata: record } = Object(message) as Fields;
  const { kind, ...fields } = Object(record) as Fields;
  switch (kind) {
    case "checkpoint": {
      const header = jsonIn(fields.header);
      const about = jsonIn(fields.metadata);
      const found = [
        ["id", textIn(fields, "id")],
        ["parent", textIn(fields, "parentId") ?? "none"],
        ["time", textIn(header, "ts")],
        ["step", (Object(about) as Fields).step],
        ["source", (Object(about) as Fields).source],
        ...(fields.isAncestor === true ? [["dropped", "stored for its descendants alone"] as const] : []),
      ] as const;
      return {
        role: "checkpoint",
        parts: [fieldsPart(found), ...channels(fields.values, ([name, value]) => [name, value])],
      };
    }
    case "writes": {
      const found = [
        ["checkpoint", textIn(fields, "checkpointId")],
        ["task", textIn(fields, "taskId")],
        ["path", textIn(fields, "taskPath")],
      ] as const;
      return {
        role: "pending writes",
        parts: [fieldsPart(found), ...channels(fields.writes, ([, name, value]) => [name, value])],
      };
    }
    case "part":
      return { role: "part of a value", parts: [fieldsPart([["size", shownSize(sizeOf(fields))]])] };
    default:
      return undefined;
  }
}

function fieldsPart(found: readonly (readonly [string, unknown])[], label?: string): MessagePart {
  const fields = found.flatMap(([name, value]) =>
    typeof value === "string" || typeof value === "number"
      ? [[cutLine(name), cutLine(String(value))] as const]
      : [],
  );
  return { kind: "fields", fields, ...(label !== undefined && { label }) };
}

/** The names of channels, and the sizes of what was stored of their values. */
function channels(
  entries: unknown,
  pick: (entry: readonly unknown[]) => readonly [name: unknown, value: unknown],
): MessagePart[] {
  if (!Array.isArray(entries) || entries.length === 0) return [];
  const found = entries.map((entry) => {
    const [name, value] = pick(Array.isArray(entry) ? entry : []);
    return [shownText(name), shownSize(sizeOf(value))] as const;
  });
  return [fieldsPart(found, "stored for channels")];
}

/** The size of a stored value in bytes, without what it shares with earlier ones. */
function sizeOf(value: unknown): number {
  const { data, pieces } = Object(value) as Fields;
  if (data instanceof Uint8Array) return data.length;
  if (typeof data === "string") return Buffer.byteLength(data);
  const texts = Array.isArray(pieces) ? pieces.filter((piece) => typeof piece === "string") : [];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** A value that LangGraph's serializer has written as JSON; undefined for another form. */
function jsonIn(value: unknown): unknown {
  try {
    return JSON.parse(textIn(value, "data") ?? "");
  } catch {
    return undefined;
  }
}
