import { scriptedModel } from "../scripted-model.ts";

export const model = scriptedModel(() => "Hello there.");
