import { readFile } from "node:fs/promises";
import type { OpenAI } from "openai";

export type Message = OpenAI.ChatCompletionMessageParam;

const isInput = ({ role }: Message) => role === "system" || role === "user";

/** A conversation of 235 messages, as OpenAI's chat completions have them: a message a line. */
export const conversation = await read();

/** The conversation in the batches that an agent commits: the input, then the calls, results and answer of the agent. */
export const batches: Message[][] = [];
for (const [index, message] of conversation.entries()) {
  const before = conversation[index - 1];
  if (!before || isInput(before) !== isInput(message)) batches.push([]);
  batches.at(-1)?.push(message);
}

async function read(): Promise<Message[]> {
  const text = await readFile(new URL("conversation.jsonl", import.meta.url), "utf8");
  const lines = text.trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}
