import type { ChatMessage } from "@scrollback/store-core";
import { type Check, hasMethods, isString } from "@scrollback/store-core/driver";
import { isFunction } from "@scrollback/store-core/internal";
import type { LanguageModel } from "ai";
import { generateText } from "../ai.ts";
import { rememberable } from "./remembered.ts";

/** One turn to extract facts from. */
export interface Exchange {
  readonly request: readonly ChatMessage[];
  readonly response: readonly ChatMessage[];
}

/** Returns the facts to remember from a turn, each one line of text; an empty list for none. */
export type ExtractFunction = (turn: Exchange, options: { signal?: AbortSignal }) => Promise<string[]>;

/** A model that extracts facts. `prompt` is its instructions: to answer with one fact per line. */
export interface ExtractModel {
  model: LanguageModel;
  prompt?: string;
}

const DEFAULT_PROMPT = `You keep notes about a user. From the conversation, write down what will still be true and useful in later
conversations: who the user is, what they like, need or have decided. One short, complete sentence a line, nothing else:
no numbering, no headings. Leave out small talk, passing questions and what only the assistant said. If there is nothing
worth keeping, answer with an empty line.`;

/** A function, or a model with an optional prompt. */
export const isExtract: Check = (value) => {
  if (isFunction(value) === undefined) return undefined;
  const { model, prompt, ...others } = (value ?? {}) as Record<string, unknown>;
  const isModel = isString(model) === undefined || hasMethods("doGenerate")(model) === undefined;
  const isPrompt = prompt === undefined || isString(prompt) === undefined;
  return isModel && isPrompt && Object.keys(others).length === 0
    ? undefined
    : "must be a function, or { model, prompt? } with a language model and a string";
};

/** The facts to remember from a turn. */
export async function extractFacts(
  extract: ExtractFunction | ExtractModel,
  turn: Exchange,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const facts =
    typeof extract === "function"
      ? await extract(turn, signal ? { signal } : {})
      : await askModel(extract, turn, signal);
  return [...new Set(facts.map((fact) => fact.trim()).filter(Boolean))];
}

async function askModel(
  { model, prompt = DEFAULT_PROMPT }: ExtractModel,
  { request, response }: Exchange,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const lines = rememberable([...request, ...response]).map(({ role, content }) => `${role}: ${content}`);
  if (lines.length === 0) return [];
  const { text } = await generateText({
    model,
    instructions: prompt,
    // As one text, so that the model writes about the conversation and does not continue it.
    prompt: lines.join("\n\n"),
    ...(signal && { abortSignal: signal }),
  });
  return text.split("\n").map((line) => line.replace(/^\s*[-*•]\s+/, ""));
}
