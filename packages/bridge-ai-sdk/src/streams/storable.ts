import { StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import type { UIMessage, UIMessageChunk } from "ai";
import { failedCall, isToolPart, type UIPart } from "../convert/tool-parts.ts";

/** A store takes 1,000 levels. The message and its record need some of them. */
const MAX_DEPTH = 900;
const UNSTORABLE = "The tool's value is not JSON, so it was not stored.";

type Fields = Readonly<Record<string, unknown>>;
type OnError = (error: unknown) => void;

/**
 * A chunk as plain JSON. A tool's output or input that is not JSON becomes a tool error; other values that are not JSON are left
 * out. Undefined: nothing is left. Each value that is left out is reported.
 */
export function storableChunk(chunk: UIMessageChunk, onError: OnError): UIMessageChunk | undefined {
  const plain = plainJsonOf(chunk);
  if (plain) return plain;
  const { kept, lost } = storableFields(chunk, "the answer", onError);
  const { type } = chunk;
  if (type === "tool-output-available" && lost.has("output")) {
    const { preliminary, ...rest } = kept;
    // A final output follows a preliminary one.
    return preliminary === true ? undefined : toolError(rest, "tool-output-error");
  }
  if (type === "tool-input-available" && lost.has("input"))
    return toolError({ ...kept, input: null }, "tool-input-error");
  const isEmpty = lost.has("data") || lost.has("messageMetadata");
  return isEmpty && type !== "start" && type !== "finish" ? undefined : (kept as UIMessageChunk);
}

function toolError(fields: Fields, type: "tool-output-error" | "tool-input-error"): UIMessageChunk {
  return { ...fields, type, errorText: UNSTORABLE } as UIMessageChunk;
}

/** A message as plain JSON, by the rules of {@link storableChunk}. */
export function storableMessage<UI extends UIMessage>(message: UI, onError: OnError): UI {
  const plain = plainJsonOf(message);
  if (plain) return plain;
  const { parts, ...rest } = message;
  const { kept } = storableFields(rest, "the answer", onError);
  return { ...kept, parts: parts.flatMap((part) => storablePart(part, onError)) } as unknown as UI;
}

function storablePart(part: UIPart, onError: OnError): UIPart[] {
  const plain = plainJsonOf(part);
  if (plain) return [plain];
  const { kept, lost } = storableFields(part, "the answer", onError);
  if (lost.has("data")) return [];
  const left = kept as unknown as UIPart;
  if (!isToolPart(left) || !(lost.has("output") || lost.has("input"))) return [left];
  return [failedCall(left, UNSTORABLE, lost.has("input") ? { input: null } : {})];
}

/** The fields that are JSON, and the names of the others. */
function storableFields(value: object, where: string, onError: OnError) {
  const lost = new Set<string>();
  const kept: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    try {
      kept[name] = parsedJson(field);
    } catch (cause) {
      lost.add(name);
      const { type } = value as { readonly type?: unknown };
      const owner = type === undefined ? where : `${where}: ${String(type)}`;
      const problem = cause instanceof Error ? cause.message : String(cause);
      onError(
        new StoreError("INVALID_ARGUMENT", `${owner}.${name} is not JSON, so it was not stored: ${problem}`, {
          cause,
        }),
      );
    }
  }
  return { kept: Object.fromEntries(Object.entries(kept).filter(([, one]) => one !== undefined)), lost };
}

/** A value as a client receives it; undefined if JSON cannot carry it, or a store cannot. */
function plainJsonOf<T extends object>(value: T): T | undefined {
  try {
    const parsed = parsedJson(value) as T;
    return Object.values(value).some(hasNoJson) ? undefined : parsed;
  } catch {
    return undefined;
  }
}

/** JSON leaves it out without an error. */
function hasNoJson(value: unknown): boolean {
  return typeof value === "function" || typeof value === "symbol";
}

function parsedJson(value: unknown): unknown {
  if (hasNoJson(value)) invalid(`it is a ${typeof value}`);
  const text = JSON.stringify(value);
  if (text === undefined) return undefined;
  const parsed: unknown = JSON.parse(text);
  // Each level takes two characters.
  if (text.length > 2 * MAX_DEPTH && isDeeper(parsed, MAX_DEPTH))
    invalid(`it is nested deeper than ${MAX_DEPTH} levels`);
  return parsed;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
