import { generateText, type UIMessage } from "ai";
import type { TitleOption, Turn } from "./options.ts";
import { textOf } from "./ui-messages.ts";

const MAX_CHARACTERS = 80;
const PROMPT =
  "Write a title of at most six words for a conversation that begins with the following message. Answer with the title alone, in the language of the message.";

/** The title of a chat until a model or a user gives another one: the beginning of a message; undefined if it has no text. */
export function titleOf(message: UIMessage): string | undefined {
  return shortened(textOf(message));
}

/** The title of a chat that was created without one: the beginning of the user's first text. */
export function firstTitleOf({ messages }: Pick<Turn<UIMessage>, "messages">): string | undefined {
  return messages.flatMap((message) => (message.role === "user" ? (titleOf(message) ?? []) : [])).at(0);
}

/** Titles a chat, unless the user has titled it. */
export async function writeTitle<UI extends UIMessage>(
  turn: Turn<UI>,
  title: TitleOption<UI>,
  update: (title: string) => Promise<unknown>,
): Promise<void> {
  const made = shortened((await madeTitle(turn, title)) ?? "");
  if (made !== undefined) await update(made);
}

/** Whether the answer of a turn is the first one of its chat, and the chat has no model's title yet. */
export function wantsTitle({ chat, messages }: Turn<UIMessage>): boolean {
  const users = messages.filter(({ role }) => role === "user");
  return users.length === 1 && isOpenTitle(chat);
}

/** Whether a model may set the title. */
export function isOpenTitle({ titleBy }: Pick<Turn<UIMessage>["chat"], "titleBy">): boolean {
  return titleBy === undefined || titleBy === "text";
}

async function madeTitle<UI extends UIMessage>(
  turn: Turn<UI>,
  title: TitleOption<UI>,
): Promise<string | undefined> {
  if (typeof title === "function") return await title(turn);
  const first = turn.messages.find(({ role }) => role === "user");
  const { model, prompt = PROMPT } = title;
  const { text } = await generateText({
    model,
    instructions: prompt,
    prompt: first ? textOf(first) : "",
    abortSignal: turn.signal,
  });
  return text;
}

function shortened(text: string): string | undefined {
  const words = text.trim().replace(/\s+/gu, " ");
  const short = [...words].slice(0, MAX_CHARACTERS).join("").toWellFormed();
  return short === "" ? undefined : short;
}
