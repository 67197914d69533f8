import type { ChatMessage } from "@scrollback/store-core";
import { type Check, hasMethods, isString } from "@scrollback/store-core/driver";
import type { LanguageModel } from "ai";
import { type HistoryReducer, reducedBy } from "../../agent/history-reducer.ts";
import { textOf } from "../../agent/model-messages.ts";
import { generateText } from "../../ai.ts";

/** A language model of the AI SDK, or the id of one. */
export const isModel: Check = (value) =>
  isString(value) === undefined || hasMethods("doGenerate")(value) === undefined
    ? undefined
    : "must be a language model of the AI SDK, or the id of one";

/** The history for a strategy's model: one JSON object with role, name and content per line. Blank messages are omitted. */
export async function tellHistory(
  history: readonly ChatMessage[],
  { historyReducer, namesOnly = false }: { historyReducer?: HistoryReducer; namesOnly?: boolean },
  signal: AbortSignal | undefined,
): Promise<string> {
  const seen = historyReducer ? await reducedBy("historyReducer", historyReducer, history, signal) : history;
  return seen
    .flatMap(({ role, authorName: name, content }) => {
      const text = textOf(content);
      if (text.trim() === "") return [];
      return namesOnly
        ? (name ?? [])
        : JSON.stringify({ role, ...(name !== undefined && { name }), content: text });
    })
    .join("\n");
}

/** Asks a strategy's model one question. */
export async function askModel(
  model: LanguageModel,
  instructions: string,
  prompt: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { text } = await generateText({
    model,
    instructions,
    prompt,
    ...(signal && { abortSignal: signal }),
  });
  return text;
}
