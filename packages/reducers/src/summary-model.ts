import { type ChatMessage, type Check, hasMethods, invalid, StoreError } from "@scrollback/store-core";
import { generateText, type LanguageModel, type ModelMessage, RetryError } from "ai";

/** What a summary is to be made of. */
export interface SummaryRequest {
  /** What the model is to do. */
  instructions: string;
  /** The earlier summary, as an assistant's message, where there is one; then what is new, oldest first. */
  messages: ChatMessage[];
}

/** Writes a summary. The signal is there when the reduction was given one, and aborts with it. */
export type SummaryFunction = (
  request: SummaryRequest,
  options: { signal: AbortSignal | undefined },
) => Promise<string>;

/** Who writes summaries: a language model of the AI SDK (or its id, for the SDK's global provider), or a function. */
export type SummaryModel = LanguageModel | SummaryFunction;

export const isSummaryModel: Check = (value) =>
  typeof value === "function" ||
  (typeof value === "string" && value !== "") ||
  hasMethods("doGenerate")(value) === undefined
    ? undefined
    : "must be a language model of the AI SDK or a function";

/** Some models take what ends in the assistant's words for the beginning of their answer. */
const lastWord: ModelMessage = { role: "user", content: "Write the summary now." };

/**
 * Asks for a summary.
 *
 * @throws the model's own error; StoreError `INVALID_ARGUMENT` for an answer that is no text, `UNAVAILABLE` for an empty one.
 */
export async function writeSummary(
  model: SummaryModel,
  request: SummaryRequest,
  signal: AbortSignal | undefined,
): Promise<string> {
  const summary: unknown =
    typeof model === "function" ? await model(request, { signal }) : await generate(model, request, signal);
  if (typeof summary !== "string") invalid("SummarizingReducer: model must return the summary as text");
  if (summary.trim() === "") {
    throw new StoreError("UNAVAILABLE", "SummarizingReducer: model returned an empty summary", {
      retryable: true,
    });
  }
  return summary;
}

async function generate(
  model: LanguageModel,
  { instructions, messages }: SummaryRequest,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    const { text } = await generateText({
      model,
      instructions,
      messages: [...messages.flatMap(toModelMessage), lastWord],
      ...(signal && { abortSignal: signal }),
    });
    return text;
  } catch (error) {
    throw RetryError.isInstance(error) ? error.lastError : error;
  }
}

/** What the AI SDK takes of a message. Reasoning is left out, which providers take back only with their own signature. */
function toModelMessage({ role, content, providerOptions }: ChatMessage): ModelMessage[] {
  if (typeof content !== "string") {
    const isKnown = ({ type }: { type: string }) =>
      type === "text" || type === "file" || (type === "image" && role === "user");
    content = content.filter(isKnown);
    if (content.length === 0) return [];
  }
  return [{ role, content, ...(providerOptions && { providerOptions }) } as ModelMessage];
}
