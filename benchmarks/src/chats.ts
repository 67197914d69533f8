import { strictEqual } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ChatStore } from "@scrollback/chats";
import type { Backend } from "./backend.ts";
import { type Measured, mediansOf } from "./calls.ts";
import { type Effort, measure } from "./measure.ts";
import { messagesFrom } from "./messages.ts";

/** A message of the chats that are measured. */
interface Text {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
}

interface Chats {
  /** Stores a question, two drafts of its answer, and the answer. */
  storeTurn(chatId: string, question: Text, drafts: readonly Text[], answer: Text): Promise<unknown>;
  /** Creates a chat with a message, reads it and deletes the chat. */
  storeBriefly(chatId: string, message: Text): Promise<string | undefined>;
  /** The number of messages of all chats. */
  count(): Promise<number>;
  close(): Promise<unknown>;
}

const OWNER = "owner";
/** So many that none of them becomes long. */
const chatIds = Array.from({ length: 100 }, (_, index) => `chat-${index}`);

/** What an application writes for itself: a table of chats with an index for the list, and a table of messages. */
function tables(path: string): Chats {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = normal;
    CREATE TABLE chats (
      id TEXT PRIMARY KEY, owner TEXT NOT NULL, active_at INTEGER NOT NULL, message_count INTEGER NOT NULL, last_text TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX chats_by_activity ON chats (owner, active_at DESC);
    CREATE TABLE messages (
      chat TEXT NOT NULL, sequence INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (chat, sequence)
    ) STRICT, WITHOUT ROWID;`);
  const insert = database.prepare("INSERT INTO chats VALUES (?, ?, 0, 0, '')");
  for (const id of chatIds) insert.run(id, OWNER);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const countOf = database.prepare("SELECT message_count AS count FROM chats WHERE id = ?");
  const activate = database.prepare(
    "UPDATE chats SET active_at = ?, message_count = ?, last_text = ? WHERE id = ?",
  );
  const put = database.prepare("INSERT OR REPLACE INTO messages VALUES (?, ?, ?)");
  const read = database.prepare("SELECT body FROM messages WHERE chat = ? ORDER BY sequence");
  const remove = database.prepare("DELETE FROM messages WHERE chat = ?");
  const removeChat = database.prepare("DELETE FROM chats WHERE id = ?");
  const sum = database.prepare("SELECT sum(message_count) AS count FROM chats");
  /** Writes the message after the last one, or over it. */
  const write = (chatId: string, message: Text, isNew: boolean) => {
    begin.run();
    const sequence = Number(countOf.get(chatId)?.count) + (isNew ? 1 : 0);
    put.run(chatId, sequence, JSON.stringify(message));
    activate.run(Date.now(), sequence, message.content.slice(0, 160), chatId);
    commit.run();
  };
  return {
    async storeTurn(chatId, question, drafts, answer) {
      write(chatId, question, true);
      for (const [index, message] of [...drafts, answer].entries()) write(chatId, message, index === 0);
    },
    async storeBriefly(chatId, message) {
      insert.run(chatId, OWNER);
      write(chatId, message, true);
      const [stored] = read.all(chatId).map(({ body }) => JSON.parse(String(body)) as Text);
      begin.run();
      remove.run(chatId);
      removeChat.run(chatId);
      commit.run();
      return stored?.content;
    },
    count: async () => Number(sum.get()?.count),
    close: async () => database.close(),
  };
}

async function scrollbackChats({ definition, url }: Backend): Promise<Chats> {
  const { stores, close } = definition.stores(url, undefined);
  const all = new ChatStore<Text>({ stores });
  const chats = all.of(OWNER);
  for (const id of chatIds) await chats.create({ id });
  return {
    async storeTurn(chatId, question, drafts, answer) {
      const run = await chats.begin(chatId, { append: [question] });
      for (const draft of drafts) {
        run.update({ ...draft, id: run.messageId });
        await run.save();
      }
      await run.end({ message: { ...answer, id: run.messageId }, status: "complete" });
    },
    async storeBriefly(id, message) {
      await chats.create({ id, messages: [message] });
      const page = await chats.read(id);
      await chats.delete(id);
      return page?.entries[0]?.message.content;
    },
    async count() {
      const listed = await chats.list({ limit: chatIds.length });
      return listed.chats.reduce((sum, { messageCount }) => sum + messageCount, 0);
    },
    async close() {
      await all.flush();
      await close();
    },
  };
}

const contents = messagesFrom(0, 400).flatMap(({ content }) => (typeof content === "string" ? content : []));

/** A data URL of 1 MB that no other one equals. */
function photo(): string {
  return `data:image/png;base64,${randomBytes(1_000_000).toString("base64")}`;
}

/** Measures a stored turn of a chat, and a photo in one, on SQLite. */
export async function measureChats(backend: Backend, effort: Effort): Promise<Measured[]> {
  const contestants = [
    { name: "raw" as const, chats: tables(join(backend.url, "chats.db")) },
    { name: "ours" as const, chats: await scrollbackChats(backend) },
  ];
  const cells = contestants.map(({ name, chats }) => {
    let turns = 0;
    return {
      name,
      times: [] as number[],
      chats,
      turns: () => turns,
      prepare() {
        const number = turns++;
        const textAt = (place: number) => contents[place % contents.length] ?? "";
        const whole = textAt(2 * number + 1);
        const answer = (content: string): Text => ({ id: `a${number}`, role: "assistant", content });
        const drafts = [1 / 3, 2 / 3].map((share) => answer(whole.slice(0, whole.length * share)));
        const question: Text = { id: `q${number}`, role: "user", content: textAt(2 * number) };
        const chatId = chatIds[number % chatIds.length] ?? "";
        return () => chats.storeTurn(chatId, question, drafts, answer(whole));
      },
    };
  });
  await measure(cells, effort);
  for (const { chats, turns } of cells) strictEqual(await chats.count(), 2 * turns());
  const photos = contestants.map(({ name, chats }) => ({
    name,
    times: [] as number[],
    prepare() {
      const message: Text = { id: "q", role: "user", content: photo() };
      return async () => strictEqual(await chats.storeBriefly("photos", message), message.content);
    },
  }));
  await measure(photos, effort);
  for (const { chats } of contestants) await chats.close();
  return [
    { name: "chat turn", ...mediansOf(cells) },
    { name: "chat with a photo", ...mediansOf(photos) },
  ];
}
