import { mkdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChatText, TabContestant } from "./contestant.ts";

/** The recipe of the AI SDK's guide: one JSON file per chat, which is read, extended and written. */
export function fileRecipe(folder: string): TabContestant {
  mkdirSync(folder, { recursive: true });
  const pathOf = (chatId: string) => join(folder, `${chatId}.json`);
  const load = async (chatId: string): Promise<ChatText[]> =>
    JSON.parse(await readFile(pathOf(chatId), "utf8"));
  const save = (chatId: string, messages: readonly ChatText[]) =>
    writeFile(pathOf(chatId), JSON.stringify(messages, undefined, 2));
  return {
    create: (chatId) => save(chatId, []),
    append: async (chatId, message) => await save(chatId, [...(await load(chatId)), message]),
    read: load,
    close: async () => undefined,
  };
}
