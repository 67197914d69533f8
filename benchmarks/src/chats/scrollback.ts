import { ChatStore } from "@scrollback/chats";
import type { StoreFactory } from "@scrollback/store-core";
import { type ChatContestant, type ChatText, TABS_OWNER } from "./contestant.ts";
import { withCountedIndexes } from "./requests.ts";

/** Scrollback. Also closes the stores. */
export function scrollbackChats(stores: StoreFactory): ChatContestant {
  let time = 0;
  /** All times are different, because chats with equal times are ordered by id. */
  const now = () => {
    time = Math.max(time + 1, Date.now());
    return time;
  };
  const chats = new ChatStore<ChatText>({ stores: withCountedIndexes(stores), now });
  const shared = chats.of(TABS_OWNER);
  return {
    async fill(owner, chatIds) {
      for (const id of chatIds) {
        await chats.of(owner).create({ id, title: id, messages: [{ id: "m1", role: "user", content: id }] });
      }
    },
    async storeTurn(owner, chatId, { question, drafts, answer }) {
      const run = await chats.of(owner).begin(chatId, { append: [question] });
      for (const draft of drafts) {
        run.update({ ...draft, id: run.messageId });
        await run.save();
      }
      await run.end({ message: { ...answer, id: run.messageId }, status: "complete" });
    },
    async list(owner, limit) {
      const { chats: listed } = await chats.of(owner).list({ limit });
      return listed.map(({ id }) => id);
    },
    flush: () => chats.flush(),
    create: (id) => shared.create({ id }),
    append: (chatId, message) => shared.append(chatId, [message]),
    async read(chatId) {
      const page = await shared.read(chatId);
      return page?.entries.map(({ message }) => message) ?? [];
    },
    async close() {
      await chats.flush();
      await stores.close();
    },
  };
}
