import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { type Check, hasMethods, invalid } from "@scrollback/store-core/driver";
import { generateText, type LanguageModel, type ModelMessage, RetryError } from "ai";

/** The input of a summary. */
export interface SummaryRequest {
  /** The instructions for the model. */
  instructions: string;
  /** The earlier summary, if any, as an assistant message; then the new messages, oldest first. */
  messages: ChatMessage[];
}

/** Writes a summary. `signal` is given if the reduction received one, and aborts with it. */
type SummaryFunction = (
  request: SummaryRequest,
  options: { signal: AbortSignal | undefined },
) => Promise<string>;

/** The author of summaries: a language model of the AI SDK (or its id, for the SDK's global provider), or a function. */
export type SummaryModel = LanguageModel | SummaryFunction;

export const isSummaryModel: Check = (value) =>
  typeof value === "function" ||
  (typeof value === "string" && value !== "") ||
  hasMethods("doGenerate")(value) === undefined
    ? undefined
    : "must be a language model of the AI SDK or a function";

/** Some models continue a prompt that ends with an assistant message. */
const lastWord: ModelMessage = { role: "user", content: "Write the summary now." };

/**
 * Asks for a summary.
 *
 * @throws the model's own error; StoreError `INVALID_ARGUMENT` for an answer that is not text, `UNAVAILABLE` for an empty
 *   one.
 */
export async function writeSummary(
  model: SummaryModel,
  request: SummaryRequest,
  signal: AbortSignal | undefined,
): Promise<string> {
  const summary: unknown =
    typeof model === "function" ? await model(request, { signal }) : await generate(model, request, signal);
  if (typeof summary !== "string") invalid("SummarizingReducer: result of model must be a string");
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
      // The name of `ai` 6, which `ai` 7 takes too.
      system: instructions,
      messages: [...messages.flatMap(toModelMessage), lastWord],
      ...(signal && { abortSignal: signal }),
    });
    return text;
  } catch (error) {
    throw RetryError.isInstance(error) ? error.lastError : error;
  }
}

/** Converts a message for the AI SDK. Omits reasoning, which providers accept only with their own signature. */
function toModelMessage({ role, content, providerOptions }: ChatMessage): ModelMessage[] {
  if (typeof content !== "string") {
    const isKnown = ({ type }: { type: string }) =>
      type === "text" || type === "file" || (type === "image" && role === "user");
    content = content.filter(isKnown);
    if (content.length === 0) return [];
  }
  return [{ role, content, ...(providerOptions && { providerOptions }) } as ModelMessage];
}
