import { type Contestant, MAX_MESSAGES } from "../contestant.ts";

interface Statement {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
}

/** A raw client of a database that executes SQL of SQLite by requests. */
interface SqliteRequests {
  /** Executes the statements in one transaction, and returns the rows of each. */
  batch(statements: readonly Statement[]): Promise<readonly (readonly object[])[]>;
  close(): Promise<unknown>;
}

/** What {@link rawSqlite} does, for the page. */
export const baseline = "`INSERT` and `DELETE` in a batch; `SELECT` and `JSON.parse`; a table of ids";

/** A table of messages; a commit is a batch with one INSERT per message and the DELETE of the messages that are too old. */
export async function rawSqlite(client: SqliteRequests): Promise<Contestant> {
  const run = async (sql: string, ...parameters: (string | number)[]) => {
    const [rows = []] = await client.batch([{ sql, parameters }]);
    return rows;
  };
  await run(`CREATE TABLE IF NOT EXISTS messages (
    thread TEXT NOT NULL, sequence INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (thread, sequence)) WITHOUT ROWID`);
  await run("CREATE TABLE IF NOT EXISTS threads (id TEXT PRIMARY KEY) WITHOUT ROWID");
  const insert =
    "INSERT INTO messages SELECT ?1, ifnull(max(sequence), 0) + 1, ?2 FROM messages WHERE thread = ?1";
  const trim =
    "DELETE FROM messages WHERE thread = ?1 AND sequence <= (SELECT max(sequence) FROM messages WHERE thread = ?1) - ?2";
  const select = "SELECT body FROM messages WHERE thread = ? ORDER BY sequence";
  const inserts = (threadId: string, messages: readonly object[]): Statement[] =>
    messages.map((message) => ({ sql: insert, parameters: [threadId, JSON.stringify(message)] }));
  const parse = (row: object): unknown => JSON.parse(String(Reflect.get(row, "body")));
  return {
    fill: (threadId, messages) => client.batch(inserts(threadId, messages)),
    open: (threadId) => ({
      append: (messages) => () =>
        client.batch([...inserts(threadId, messages), { sql: trim, parameters: [threadId, MAX_MESSAGES] }]),
      newest: (count) => async () =>
        (await run(`${select} DESC LIMIT ?`, threadId, count)).map(parse).reverse(),
      all: () => async () => (await run(select, threadId)).map(parse),
    }),
    fillThreads: (threadIds) =>
      client.batch(threadIds.map((id) => ({ sql: "INSERT INTO threads VALUES (?)", parameters: [id] }))),
    list: async (count) => (await run("SELECT id FROM threads ORDER BY id LIMIT ?", count)).length,
    close: () => client.close(),
  };
}
