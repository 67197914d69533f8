import { DatabaseSync } from "node:sqlite";
import { type ChatContestant, type ChatText, TABS_OWNER } from "./contestant.ts";

/** A hand-written store: a table of chats with an index for the list, and a table of messages. */
export function tables(path: string): ChatContestant {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = normal;
    CREATE TABLE chats (
      id TEXT PRIMARY KEY,
      owner TEXT NOT NULL,
      title TEXT NOT NULL,
      active_at INTEGER NOT NULL,
      message_count INTEGER NOT NULL,
      last_text TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX chats_by_activity ON chats (owner, active_at DESC);
    CREATE TABLE messages (
      chat TEXT NOT NULL,
      sequence INTEGER NOT NULL,
      id TEXT NOT NULL,
      body TEXT NOT NULL,
      PRIMARY KEY (chat, sequence)
    ) STRICT, WITHOUT ROWID;`);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const insertChat = database.prepare("INSERT INTO chats VALUES (?, ?, ?, ?, 0, '')");
  const countOf = database.prepare("SELECT message_count AS count FROM chats WHERE id = ?");
  const activate = database.prepare(
    "UPDATE chats SET active_at = ?, message_count = ?, last_text = ? WHERE id = ?",
  );
  const insert = database.prepare("INSERT INTO messages VALUES (?, ?, ?, ?)");
  const update = database.prepare("UPDATE messages SET body = ? WHERE chat = ? AND sequence = ?");
  const newest = database.prepare(
    "SELECT id, title, active_at, message_count, last_text FROM chats WHERE owner = ? ORDER BY active_at DESC LIMIT ?",
  );
  const all = database.prepare("SELECT body FROM messages WHERE chat = ? ORDER BY sequence");
  let time = 0;
  const now = () => {
    time = Math.max(time + 1, Date.now());
    return time;
  };
  const transaction = <T>(work: () => T): T => {
    begin.run();
    const result = work();
    commit.run();
    return result;
  };
  /** Adds a message to a chat, and returns its sequence number. */
  const append = (chatId: string, message: ChatText): number =>
    transaction(() => {
      const count = Number(countOf.get(chatId)?.count ?? 0) + 1;
      insert.run(chatId, count, message.id, JSON.stringify(message));
      activate.run(now(), count, message.content.slice(0, 160), chatId);
      return count;
    });
  const replace = (chatId: string, sequence: number, message: ChatText) =>
    transaction(() => {
      update.run(JSON.stringify(message), chatId, sequence);
      activate.run(now(), sequence, message.content.slice(0, 160), chatId);
    });
  const create = (owner: string, chatId: string) => insertChat.run(chatId, owner, chatId, now());
  return {
    async fill(owner, chatIds) {
      for (const id of chatIds) {
        create(owner, id);
        append(id, { id: "m1", role: "user", content: id });
      }
    },
    async storeTurn(_owner, chatId, { question, drafts, answer }) {
      append(chatId, question);
      let sequence: number | undefined;
      for (const message of [...drafts, answer]) {
        if (sequence === undefined) sequence = append(chatId, message);
        else replace(chatId, sequence, message);
      }
    },
    list: async (owner, limit) => newest.all(owner, limit).map(({ id }) => String(id)),
    create: async (chatId) => create(TABS_OWNER, chatId),
    append: async (chatId, message) => append(chatId, message),
    read: async (chatId) => all.all(chatId).map(({ body }): ChatText => JSON.parse(String(body))),
    close: async () => database.close(),
  };
}
