/** Statements that fail where a table of such a name has other columns, or more. They return nothing. */
export const checks = (prefix: string): string[] => [
  `SELECT thread, token, until, head, tail FROM ${prefix}heads UNION ALL SELECT * FROM ${prefix}heads LIMIT 0`,
  `SELECT thread, id, until, messages FROM ${prefix}pages UNION ALL SELECT * FROM ${prefix}pages LIMIT 0`,
  `SELECT name, sort, key, id, version, value, expires_at FROM ${prefix}entries
  UNION ALL SELECT * FROM ${prefix}entries LIMIT 0`,
];

/**
 * The tables, as `setup()` creates them. `until` and `expires_at` are in milliseconds since 1970. `tail` is the last column, so that a
 * listing does not read it.
 */
export const definitions = (prefix: string): string[] => [
  `CREATE TABLE IF NOT EXISTS ${prefix}heads (
  thread TEXT NOT NULL PRIMARY KEY,
  token TEXT NOT NULL,
  until INTEGER,
  head TEXT NOT NULL,
  tail TEXT NOT NULL)`,
  `CREATE INDEX IF NOT EXISTS ${prefix}heads_expiry ON ${prefix}heads (until) WHERE until IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS ${prefix}pages (
  thread TEXT NOT NULL,
  id TEXT NOT NULL,
  until INTEGER,
  messages TEXT NOT NULL,
  PRIMARY KEY (thread, id))`,
  `CREATE INDEX IF NOT EXISTS ${prefix}pages_expiry ON ${prefix}pages (until) WHERE until IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS ${prefix}entries (
  name TEXT NOT NULL,
  sort TEXT NOT NULL,
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  value TEXT NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (name, sort)) WITHOUT ROWID`,
  `CREATE UNIQUE INDEX IF NOT EXISTS ${prefix}entries_key ON ${prefix}entries (name, key, id)`,
  `CREATE INDEX IF NOT EXISTS ${prefix}entries_expiry ON ${prefix}entries (name, expires_at) WHERE expires_at IS NOT NULL`,
];
