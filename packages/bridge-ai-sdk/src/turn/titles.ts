import { callWithin } from "@scrollback/store-core/internal";
import { generateText, type UIMessage } from "ai";
import { textOf } from "../convert/ui-messages.ts";
import type { TitleOption, Turn } from "../options.ts";

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

/**
 * Makes a title within `ms` milliseconds; undefined if there is none.
 *
 * @throws what the model or the function throws, and StoreError `UNAVAILABLE` after `ms` milliseconds.
 */
export async function makeTitle<UI extends UIMessage>(
  turn: Turn<UI>,
  title: TitleOption<UI>,
  ms: number,
): Promise<string | undefined> {
  const made = await callWithin(ms, "title", (late) =>
    madeTitle({ ...turn, signal: AbortSignal.any([turn.signal, late]) }, title),
  );
  return shortened(made ?? "");
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
