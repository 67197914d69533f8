import { readFile } from "node:fs/promises";
import { StoreError } from "@scrollback/store-core";
import { type ErrorClassification, refusal } from "@scrollback/store-core/driver";
import { isUniqueViolation, readOnly } from "./errors.ts";
import type { Session } from "./sessions.ts";
import { DEFAULT_SCHEMA, quote } from "./text.ts";

const folder = new URL("../sql/", import.meta.url);
/**
 * In their order; the number of the last one is the version of the layout. Listed, because beside a bundled program may be the SQL files of
 * something else.
 */
const names = [
  "001-tables.sql",
  "002-commit.sql",
  "003-threads.sql",
  "004-entries.sql",
  "005-conversation.sql",
  "006-watch.sql",
];

/** Quotes an SQL text, whether or not the connection's settings make a backslash an escape. */
function literal(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** A file of SQL that creates tables or functions, once in each schema. */
interface Migration {
  readonly number: number;
  readonly name: string;
  /** With the schema in the place of `"scrollback"`. */
  readonly sql: string;
}

/** The migrations, in their order. A released one is never changed: a new layout is a new migration. */
async function migrations(schema: string): Promise<readonly Migration[]> {
  const reading = names.map(async (name) => {
    const text = await readFile(new URL(name, folder), "utf8");
    const sql = text.replaceAll(`"${DEFAULT_SCHEMA}"`, () => quote(schema));
    return { number: Number(name.slice(0, 3)), name, sql };
  });
  return await Promise.all(reading).catch(throwBundled);
}

/** The files of SQL are in the package, but not in a program that a bundler made of it. */
function throwBundled(cause: unknown): never {
  throw new StoreError(
    "UNSUPPORTED",
    "postgres: the package's SQL files are not beside its code, as in a bundled program; set the schema up by the command: scrollback setup <url>; " +
      "or leave @scrollback/store-postgres out of the bundle",
    { cause },
  );
}

/**
 * A migration as one script, which runs as one transaction. Processes that run it at once take turns, and the second one fails at the row of the
 * table `migrations` before it changes anything.
 */
function scriptOf({ number, name, sql }: Migration, schema: string): string {
  const table = `${quote(schema)}.migrations`;
  const lock = `SELECT pg_advisory_xact_lock(hashtextextended(${literal(`scrollback ${schema}`)}, 0));`;
  // CREATE SCHEMA IF NOT EXISTS needs the privilege to create one also where it exists.
  const create = `BEGIN IF to_regnamespace(${literal(quote(schema))}) IS NULL THEN CREATE SCHEMA ${quote(schema)}; END IF; END`;
  const first = `DO ${literal(create)};
CREATE TABLE IF NOT EXISTS ${table} (number int PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
`;
  return `${lock}
${number === 1 ? first : ""}INSERT INTO ${table} (number, name) VALUES (${number}, '${name}');
${sql}`;
}

/** All scripts, for someone who runs them with another client, such as psql. */
export async function setupScript(schema: string): Promise<string> {
  const scripts = (await migrations(schema)).map((migration) => scriptOf(migration, schema));
  return scripts.map((script) => `BEGIN;\n${script}COMMIT;\n`).join("\n");
}

/**
 * Reads the encoding, whether the server accepts writes, whether the table of migrations is there, and the privileges that the user lacks on
 * the tables that are there. $1 is the schema.
 */
const look = `SELECT getdatabaseencoding(), current_setting('transaction_read_only'), to_regclass(format('%I.migrations', $1::text)) IS NOT NULL,
  (SELECT string_agg(p || ' on ' || c.relname, ', ' ORDER BY c.relname, p)
   FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p
   WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND NOT has_table_privilege(c.oid, p)
     AND (c.relname IN ('threads', 'messages', 'operations', 'deletions', 'entries') OR c.relname = 'migrations' AND p = 'SELECT'))`;

const wrongEncoding: ErrorClassification = {
  code: "UNSUPPORTED",
  message:
    "postgres: the database's encoding must be UTF8, because messages may contain any character; create it with ENCODING 'UTF8'",
};
const notAllowed = (schema: string, missing: string): ErrorClassification => ({
  code: "UNAVAILABLE",
  message: `postgres: the user lacks privileges in the schema ${quote(schema)}: ${missing}; grant them`,
});

/**
 * Runs the missing migrations. Needs no privilege to create anything if there are none.
 *
 * @throws StoreError `UNSUPPORTED` for a schema of a newer package, and for a database that is not in UTF-8; `UNAVAILABLE` for a server or
 *   a user that cannot write.
 */
export async function migrate(session: Session, schema: string): Promise<void> {
  const [[encoding, isReadOnly, isThere, lacking] = []] = await session.query(look, [schema]);
  if (encoding !== "UTF8") throw refusal(wrongEncoding);
  if (isReadOnly === "on") throw refusal(readOnly);
  if (isThere === true && typeof lacking === "string") throw refusal(notAllowed(schema, lacking));
  let reached = isThere === true ? await versionOf(session, schema) : 0;
  const missing = reached < names.length ? (await migrations(schema)).slice(reached) : [];
  for (const migration of missing) {
    if (migration.number <= reached) continue;
    try {
      await session.script(scriptOf(migration, schema));
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      // Another process was first: the table has its row.
      reached = await versionOf(session, schema);
      if (reached < migration.number) throw error;
    }
  }
  if (reached > names.length)
    throw new StoreError(
      "UNSUPPORTED",
      `postgres: the schema ${quote(schema)} is of layout version ${reached}; this package supports up to ${names.length}; upgrade @scrollback/store-postgres`,
    );
}

async function versionOf(session: Session, schema: string): Promise<number> {
  const [[version] = []] = await session.query(
    `SELECT coalesce(max(number), 0) FROM ${quote(schema)}.migrations`,
    [],
  );
  return Number(version ?? 0);
}
