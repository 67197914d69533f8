import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { scriptedModel, scriptedTitles } from "./scripted-model.ts";

export const INSTRUCTIONS =
  "Answer in Markdown, briefly. Delete files with deleteFile. Ask what you must know with askUser, one question at a time.";

/** A real model if the environment has a key for one; else a script that needs no network. */
export function chooseModel(environment: NodeJS.ProcessEnv = process.env): {
  model: LanguageModel;
  titleModel: LanguageModel;
  name: string;
} {
  const { OPENAI_API_KEY: apiKey, AI_GATEWAY_API_KEY: gatewayKey } = environment;
  if (apiKey !== undefined) {
    const openai = createOpenAI({ apiKey });
    return { model: openai("gpt-5-mini"), titleModel: openai("gpt-5-nano"), name: "gpt-5-mini" };
  }
  if (gatewayKey !== undefined)
    return { model: "openai/gpt-5-mini", titleModel: "openai/gpt-5-nano", name: "gpt-5-mini" };
  return { model: scriptedModel(), titleModel: scriptedTitles(), name: "the scripted model" };
}
