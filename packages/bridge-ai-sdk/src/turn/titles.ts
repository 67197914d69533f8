import type { Chat, OwnedChats } from "@scrollback/chats";
import { generateText, type UIMessage } from "ai";
import { textOf } from "../convert/ui-messages.ts";
import type { TitleOption, TitleTurn, Turn } from "../options.ts";
import { callWithin } from "./call-within.ts";

const MAX_CHARACTERS = 80;
const PROMPT =
  "Write a title of at most six words for a conversation that begins with the following message. Answer with the title alone, in the language of the message.";

/** The title of a chat until a model or a user gives another one: the beginning of a message; undefined if it has no text. */
export function titleOf(message: UIMessage): string | undefined {
  return shortened(textOf(message));
}

/**
 * Titles the chat of a turn: if it has no title, with the beginning of the user's first text; during the first answer, with what
 * the model or the function makes within `ms` milliseconds. A title is given only to the chat and for the message that it was made of.
 *
 * @throws what the model or the function throws; StoreError `UNAVAILABLE` after `ms` milliseconds, `NOT_FOUND` if the chat or the
 *   message is gone or was changed.
 */
export async function titleChat<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  turn: Turn<UI>,
  option: TitleOption<UI> | undefined,
  ms: number,
): Promise<void> {
  const give = async (title: string | undefined, titleBy: "text" | "model", { id }: UIMessage) => {
    // As it is stored: for the model it may have been changed.
    const titleOf = turn.run.entries.find(({ message }) => message.id === id)?.message;
    if (title === undefined || titleOf === undefined) return;
    const isOpen = titleBy === "text" ? isUntitled : isOpenTitle;
    await chats.update(turn.chat.id, (chat) =>
      chat.incarnation === turn.chat.incarnation && isOpen(chat) ? { title, titleBy, titleOf } : undefined,
    );
  };
  const users = turn.messages.filter(({ role }) => role === "user");
  const named = users.find((message) => titleOf(message) !== undefined);
  if (named && isUntitled(turn.chat)) await give(titleOf(named), "text", named);
  const [first, ...others] = users;
  if (!option || !first || others.length > 0 || !isOpenTitle(turn.chat)) return;
  await give(await makeTitle(turn, first, option, ms), "model", first);
}

/**
 * Makes the title of a chat again, of the user's first message, and returns the chat. A title of the user stays unless
 * `replacesUser`, and any title stays if the chat has no such message or the option makes no title.
 *
 * @throws what {@link titleChat} throws.
 */
export async function retitleChat<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  turn: TitleTurn<UI>,
  stored: readonly UI[],
  option: TitleOption<UI> | undefined,
  { ms, replacesUser }: { ms: number; replacesUser: boolean },
): Promise<Chat> {
  const isAllowed = ({ titleBy }: Chat) => replacesUser || titleBy !== "user";
  const first = turn.messages.find(({ role }) => role === "user");
  if (!first || !isAllowed(turn.chat)) return turn.chat;
  const title = option ? await makeTitle(turn, first, option, ms) : titleOf(first);
  const titleMessage = stored.find(({ id }) => id === first.id);
  if (title === undefined || titleMessage === undefined) return turn.chat;
  return await chats.update(turn.chat.id, (chat) =>
    chat.incarnation === turn.chat.incarnation && isAllowed(chat)
      ? { title, titleBy: option ? "model" : "text", titleOf: titleMessage }
      : undefined,
  );
}

async function makeTitle<UI extends UIMessage>(
  turn: TitleTurn<UI>,
  first: UI,
  option: TitleOption<UI>,
  ms: number,
): Promise<string | undefined> {
  const made = await callWithin(ms, "title", async (late) => {
    const signal = AbortSignal.any([turn.signal, late]);
    if (typeof option === "function") return await option({ ...turn, signal });
    const { model, prompt: instructions = PROMPT } = option;
    const prompt = textOf(first);
    return (await generateText({ model, instructions, prompt, abortSignal: signal })).text;
  });
  return shortened(made ?? "");
}

function isUntitled({ title }: Chat): boolean {
  return title === undefined;
}

/** Whether a model may set the title. */
function isOpenTitle({ titleBy }: Chat): boolean {
  return titleBy === undefined || titleBy === "text";
}

function shortened(text: string): string | undefined {
  const words = text.trim().replace(/\s+/gu, " ");
  const short = [...words].slice(0, MAX_CHARACTERS).join("").toWellFormed();
  return short === "" ? undefined : short;
}
