import { type ConversationMessage, type Fields, type LeftOut, textOr } from "./conversation.ts";

type Part = Record<string, unknown>;

/** Builds the parts of a `UIMessage`. Tools are dynamic, because the application that shows the chat does not know them. */
export class MessageParts {
  readonly #parts: Part[] = [];
  readonly #leftOut: LeftOut;
  /** What is left out of this message. */
  readonly #missing = new Set<string>();
  readonly #ids = new Set<string>();
  /** The calls without a result, newest first, with their ids in the source. */
  #open: { readonly id: unknown; readonly part: Part }[] = [];
  /** Whether the newest part is a result, after which the model was called again. */
  #isStepDone = false;

  constructor(leftOut: LeftOut) {
    this.#leftOut = leftOut;
  }

  text(text: string): void {
    if (text.trim() !== "") this.#add({ type: "text", text });
  }

  reasoning(text: string): void {
    if (text.trim() !== "") this.#add({ type: "reasoning", text });
  }

  /** A file whose content is in its URL. Others are left out: the export does not have them. */
  file(url: unknown, kind: string): void {
    const [, mediaType] = /^data:([\w.+-]+\/[\w.+-]+)[;,]/.exec(textOr(url, "").slice(0, 200)) ?? [];
    if (mediaType === undefined) this.leave(kind);
    else this.#add({ type: "file", mediaType, url });
  }

  /** @param id the id of the source, for its result; undefined if it has none. */
  call(id: unknown, toolName: string, input: unknown): void {
    const base = textOr(id, "") || "call";
    let toolCallId = base;
    for (let n = 2; this.#ids.has(toolCallId); n += 1) toolCallId = `${base}-${n}`;
    this.#ids.add(toolCallId);
    const part: Part = { type: "dynamic-tool", toolName: toolName || "tool", toolCallId, input };
    this.#add(part);
    this.#open.unshift({ id, part });
  }

  /** The result of the open call with this id; without an id, of the newest one of this tool, or else of any. Makes a call if there is none. */
  result(id: unknown, toolName: string, output: unknown, isError = false): void {
    const isMeant = (one: { id: unknown; part: Part }) =>
      id === undefined ? one.part.toolName === toolName : one.id === id;
    const isAny = (one: { id: unknown }) => id === undefined && one.id === undefined;
    let found = this.#open.find(isMeant) ?? this.#open.find(isAny);
    if (!found) {
      this.call(id, toolName, {});
      [found] = this.#open;
    }
    this.#open = this.#open.filter((one) => one !== found);
    const end = isError
      ? { state: "output-error", errorText: asText(output) }
      : { state: "output-available", output };
    Object.assign(found?.part ?? {}, end);
    this.#isStepDone = true;
  }

  /** Counts something that is not imported. */
  leave(kind: string, count = 1): void {
    if (count === 0) return;
    this.#leftOut.add(kind, count);
    this.#missing.add(kind);
  }

  /** The parts. A message of which all is left out says so, because the next one answers it. */
  finish(): readonly Fields[] {
    for (const { part } of this.#open)
      Object.assign(part, { state: "output-error", errorText: "The export has no result of this call." });
    if (this.#parts.length === 0 && this.#missing.size > 0)
      this.text(`[not imported: ${[...this.#missing].join(", ")}]`);
    return this.#parts;
  }

  #add(part: Part): void {
    if (this.#isStepDone) this.#parts.push({ type: "step-start" });
    this.#isStepDone = false;
    this.#parts.push(part);
  }
}

/** A message, or undefined if nothing of it is imported. */
export function messageOf(
  id: string,
  role: "user" | "assistant",
  made: MessageParts,
  details: {
    readonly createdAt: number | undefined;
    readonly model?: unknown;
    readonly status?: ConversationMessage["status"];
  },
): ConversationMessage | undefined {
  const { createdAt, model, status = "complete" } = details;
  const parts = made.finish();
  if (parts.length === 0) return undefined;
  const metadata = {
    ...(createdAt !== undefined && { createdAt }),
    ...(typeof model === "string" && { model }),
  };
  const hasMetadata = Object.keys(metadata).length > 0;
  return { message: { id, role, parts, ...(hasMetadata && { metadata }) }, createdAt, status };
}

/** The object, list or text of a JSON text; any other text is itself. */
export function jsonOr(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === "string" || (typeof parsed === "object" && parsed !== null) ? parsed : value;
  } catch {
    return value;
  }
}

/** The input of a tool: an object, as all tools of the AI SDK take. */
export function inputOf(value: unknown): Fields {
  const input = jsonOr(value);
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input as Fields;
  return input == null || input === "" ? {} : { input };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
