import { StoreError } from "@scrollback/store-core";
import type { ErrorClassification } from "@scrollback/store-core/driver";
import { isUniqueViolation, otherTable, readOnly, refusal } from "./errors.ts";
import type { Session } from "./sessions.ts";
import { sqlFiles } from "./sql.ts";
import { DEFAULT_SCHEMA, quote } from "./text.ts";

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
  readonly objects: readonly DefinedObject[];
}

/** A table, index, function or view. */
interface DefinedObject {
  readonly kind: string;
  readonly name: string;
  /** The SQL that makes it, if it is absent or another function or view of this name is there. */
  readonly sql: string;
  /** Of a function, its source; of a table, the names of its columns. */
  readonly content: string | readonly string[];
}

/** The migrations, in their order. A released one is never changed: a new layout is a new migration. */
function migrations(schema: string): readonly Migration[] {
  return sqlFiles.map(({ name, text }) => {
    const inSchema = (sql: string) => sql.replaceAll(`"${DEFAULT_SCHEMA}"`, () => quote(schema));
    const statements = text.split(/^(?=CREATE )/m).slice(1);
    const objects = statements.map((statement): DefinedObject => {
      const [, kind = "", object = ""] = /^CREATE (\w+) (?:"\w+"\.)?(\w+)/.exec(statement) ?? [];
      const sql = inSchema(statement).replace(/^CREATE (?:(TABLE|INDEX)|\w+)/, (create, relation) =>
        relation ? `${create} IF NOT EXISTS` : create.replace("CREATE", "CREATE OR REPLACE"),
      );
      const columns = kind === "TABLE" ? [...statement.matchAll(/^ {2}([a-z_]+) /gm)] : [];
      const source = kind === "FUNCTION" ? inSchema(statement.split("$$")[1] ?? "") : undefined;
      return { kind, name: object, sql, content: source ?? columns.map(([, column = ""]) => column) };
    });
    return { number: Number(name.slice(0, 3)), name, sql: inSchema(text), objects };
  });
}

/**
 * A script, which runs as one transaction, or in that of the caller. Processes that run it at once take turns. Objects that another role made
 * in a schema of the search_path are not used.
 */
function scriptOf(statements: string, schema: string): string {
  const set = (name: string, value: string) => `SELECT pg_catalog.set_config('${name}', ${value}, true);`;
  const current = (name: string) => `pg_catalog.current_setting('${name}')`;
  // CREATE SCHEMA IF NOT EXISTS needs the privilege to create one also where it exists.
  const create = `BEGIN IF to_regnamespace(${literal(quote(schema))}) IS NULL THEN CREATE SCHEMA ${quote(schema)}; END IF; END`;
  return `${set("scrollback.search_path", current("search_path"))}
${set("search_path", "'pg_catalog, pg_temp'")}
SELECT pg_advisory_xact_lock(hashtextextended(${literal(`scrollback ${schema}`)}, 0));
DO ${literal(create)};
CREATE TABLE IF NOT EXISTS ${quote(schema)}.migrations (number int PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
${statements}${set("search_path", current("scrollback.search_path"))}
`;
}

/** A migration as a script. The second process that runs it fails at the row of the table `migrations` before it changes anything. */
function scriptOfMigration({ number, name, sql }: Migration, schema: string): string {
  return scriptOf(
    `INSERT INTO ${quote(schema)}.migrations (number, name) VALUES (${number}, '${name}');\n${sql}`,
    schema,
  );
}

/** A script that makes what is missing of migrations that were run. */
function scriptOfRepair(
  applied: readonly Migration[],
  missing: readonly DefinedObject[],
  schema: string,
): string {
  const rows = applied.map(({ number, name }) => `(${number}, '${name}')`);
  return scriptOf(
    `INSERT INTO ${quote(schema)}.migrations (number, name) VALUES ${rows.join()} ON CONFLICT DO NOTHING;
${missing.map(({ sql }) => sql).join("")}`,
    schema,
  );
}

/** All scripts, for someone who runs them with another client, such as psql. */
export function setupScript(schema: string): string {
  const scripts = migrations(schema).map((migration) => scriptOfMigration(migration, schema));
  return scripts.map((script) => `BEGIN;\n${script}COMMIT;\n`).join("\n");
}

/**
 * Reads the encoding, whether the server accepts writes, the privileges that the user lacks on the tables that are there, and all relations
 * with their columns and functions with their sources. $1 is the schema. All names have their schema, because the search_path is the caller's.
 */
const look =
  `SELECT pg_catalog.getdatabaseencoding()::pg_catalog.text, pg_catalog.current_setting('transaction_read_only'),
  (SELECT pg_catalog.string_agg(pg_catalog.concat(p, ' on ', c.relname), ', ' ORDER BY c.relname, p)
   FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,
     pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p
   WHERE n.nspname = $1 AND NOT pg_catalog.has_table_privilege(c.oid, p)
     AND (c.relname = ANY (ARRAY['threads', 'messages', 'operations', 'deletions', 'entries']) OR c.relname = 'migrations' AND p = 'SELECT')),
  (SELECT pg_catalog.json_agg(pg_catalog.json_build_array(o.name, o.content))::pg_catalog.text FROM (
    SELECT c.relname AS name, (
      SELECT pg_catalog.json_agg(a.attname) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped
    ) AS content
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1
    UNION ALL
    SELECT f.proname, pg_catalog.to_json(f.prosrc)
    FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace WHERE n.nspname = $1
  ) AS o)`.replaceAll(" = ", " OPERATOR(pg_catalog.=) ");

/** The contents of the objects that are in a schema, by name: several functions may have one name. */
type FoundObjects = ReadonlyMap<string, readonly DefinedObject["content"][]>;

function foundObjects(listed: string | null | undefined): FoundObjects {
  const found = new Map<string, DefinedObject["content"][]>();
  for (const [name, content] of JSON.parse(listed ?? "[]") as [string, DefinedObject["content"] | null][])
    found.set(name, [...(found.get(name) ?? []), content ?? []]);
  return found;
}

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
 * Runs the missing migrations, and makes what is missing of those that were run. Needs no privilege to create anything if there are none.
 *
 * @returns whether it made something.
 * @throws StoreError `UNSUPPORTED` for a schema of a newer package or with other tables, and for a database that is not in UTF-8;
 *   `UNAVAILABLE` for a server or a user that cannot write.
 */
export async function migrate(session: Session, schema: string): Promise<boolean> {
  const [[encoding, isReadOnly, lacking, listed] = []] = await session.query(look, [schema]);
  if (encoding !== "UTF8") throw refusal(wrongEncoding);
  if (isReadOnly === "on") throw refusal(readOnly);
  const found = foundObjects(listed);
  const isThere = found.has("migrations");
  if (isThere && lacking) throw refusal(notAllowed(schema, lacking));
  let reached = isThere ? await versionOf(session, schema) : 0;
  if (reached > sqlFiles.length)
    throw new StoreError(
      "UNSUPPORTED",
      `postgres: the schema ${quote(schema)} is of layout version ${reached}; this package supports up to ${sqlFiles.length}; upgrade @scrollback/store-postgres`,
    );
  const [applied, others] = [[] as Migration[], [] as Migration[]];
  for (const migration of migrations(schema))
    (migration.number <= reached || isPartlyThere(migration, found) ? applied : others).push(migration);
  const missing = applied.flatMap(({ objects }) => objects).filter((object) => !isIn(found, object));
  if (missing.some(({ kind, name }) => kind === "TABLE" && found.has(name))) throw refusal(otherTable);
  let made = missing.length > 0 || (applied.at(-1)?.number ?? 0) > reached;
  if (made) await session.script(scriptOfRepair(applied, missing, schema));
  for (const migration of others) {
    if (migration.number <= reached) continue;
    try {
      await session.script(scriptOfMigration(migration, schema));
      made = true;
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      // Another process was first: the table has its row.
      reached = await versionOf(session, schema);
      if (reached < migration.number) throw error;
    }
  }
  return made;
}

/** Whether a migration was run, though the table `migrations` does not tell, perhaps because it was dropped. */
function isPartlyThere({ objects }: Migration, found: FoundObjects): boolean {
  return objects.some((object) => object.content.length > 0 && isIn(found, object));
}

/** Whether an object is there: a function with the same source, which names the schema; a table with all columns. */
function isIn(found: FoundObjects, { kind, name, content }: DefinedObject): boolean {
  const contents = found.get(name) ?? [];
  if (kind === "FUNCTION") return contents.includes(content);
  return contents.some((columns) => [...content].every((column) => columns.includes(column)));
}

async function versionOf(session: Session, schema: string): Promise<number> {
  const [[version] = []] = await session.query(
    `SELECT coalesce(pg_catalog.max(number), 0)::pg_catalog.text FROM ${quote(schema)}.migrations`,
    [],
  );
  return Number(version ?? 0);
}
