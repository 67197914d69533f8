import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { type ChatEntry, ChatStore, type ChatSummary } from "@scrollback/chats";
import { openStores } from "@scrollback/store-core";
import type { ChatCalls, StoredItem, ThreadRow } from "./calls.ts";

// Serves the chats of assistant-ui's adapters: node server.ts <port>. On SIGTERM it stores everything, then ends.

const stores = await openStores("sqlite:chats.db");
const chats = new ChatStore<StoredItem>({ stores });
// In a program, the owner is the user of the request's session.
const mine = chats.of("ada");

const rowOf = ({ id, title, archived, activeAt }: ChatSummary): ThreadRow => ({
  ...{ id, archived, activeAt },
  ...(title !== undefined && { title }),
});

/** The messages that are not deleted, and the last one of the branch that was written last. */
function repositoryOf(entries: readonly ChatEntry<StoredItem>[]): Awaited<ReturnType<ChatCalls["load"]>> {
  const items = new Map(entries.map(({ message }) => [message.id, message.item]));
  const kept = (id: string | null): string | null => {
    const item = id === null ? undefined : items.get(id);
    return item && !("message" in item) ? kept(item.parentId) : id;
  };
  const messages = [...items.values()].flatMap((item) =>
    "message" in item ? [{ ...item, parentId: kept(item.parentId) }] : [],
  );
  const newest = entries.reduce<ChatEntry<StoredItem> | undefined>(
    (one, other) => (one && one.updatedAt > other.updatedAt ? one : other),
    undefined,
  );
  let headId = kept(newest?.message.id ?? null);
  // An answer always comes after its question.
  for (const { message, parentId } of messages) if (parentId === headId) headId = message.id;
  return { headId, messages };
}

const calls: ChatCalls = {
  async list({ cursor }) {
    const { chats: open, ...next } = await mine.list(cursor === undefined ? {} : { cursor });
    // assistant-ui expects both kinds in one list; the first page contains the newest archived chats.
    const archived = cursor === undefined ? (await mine.list({ archived: true })).chats : [];
    return { rows: [...open, ...archived].map(rowOf), ...next };
  },
  create: async ({ id }) => rowOf(await mine.create({ id }, { operationId: "create" })),
  async get({ id }) {
    const chat = await mine.get(id);
    if (!chat) throw new Error("the chat was not found");
    return rowOf(chat);
  },
  update: async ({ id, ...patch }) => rowOf(await mine.update(id, patch)),
  delete: async ({ id }) => await mine.delete(id),
  load: async ({ id }) => repositoryOf((await mine.read(id))?.entries ?? []),
  async save({ id, item }) {
    await mine.upsert(id, item);
  },
};

const server = createServer(async (request, response) => {
  const name = request.url?.slice("/chats/".length) ?? "";
  if (request.method !== "POST" || !Object.hasOwn(calls, name)) return response.writeHead(404).end();
  const call: (input: never) => Promise<unknown> = calls[name as keyof ChatCalls];
  try {
    return response.end(JSON.stringify((await call((await json(request)) as never)) ?? null));
  } catch (error) {
    console.error(error);
    return response.writeHead(500).end();
  }
});
server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? `http://${address?.address}:${address?.port}` : address);
});
process.once("SIGTERM", async () => {
  server.closeAllConnections();
  await chats.flush();
  await stores.close();
  process.exit();
});
