import type { LanguageModel } from "ai";
import { scriptedModel } from "./scripted-model";

// The real model goes here: export const model: LanguageModel = "openai/gpt-5-mini";
export const model: LanguageModel = scriptedModel();
