/** A chat in memory, on whatever runs it. Returns what was read. */
import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";

type Message = { id: string; role: "user" | "assistant"; content: string };

export async function useChats(): Promise<unknown> {
  await using stores = createMemoryStores();
  await using chats = new ChatStore<Message>({ stores });
  const mine = chats.of("ada");
  const chat = await mine.create({ title: "Rome", labels: { project: "trip" } }, { operationId: "op" });
  const run = await mine.begin(chat.id, { append: [{ id: "m1", role: "user", content: "Which tram?" }] });
  await run.end({
    message: { id: run.messageId, role: "assistant", content: "Line 8." },
    status: "complete",
  });
  const page = await mine.read(chat.id);
  const before = await mine.list();
  await mine.delete(chat.id);
  const after = await mine.list();
  return {
    messages: page?.entries.map(({ message }) => message.content),
    lists: [before, after].map(({ chats: listed }) => listed.map(({ title }) => title)),
  };
}
