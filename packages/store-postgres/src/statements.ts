import { createHash } from "node:crypto";
import { FIRST_ROW } from "@scrollback/store-core";

/** A statement that the stores send. */
export interface Statement {
  readonly text: string;
  /**
   * The name of the prepared statement. It contains a digest of the text, because a pooler may pass a connection with its
   * prepared statements to another program.
   */
  readonly name: string;
}

/** The statements on one table. Each takes one round trip. */
export interface Statements {
  readonly insert: Statement;
  readonly readRows: Statement;
  /** Leaves out the content. */
  readonly readHeads: Statement;
  readonly amend: Statement;
  readonly streams: Statement;
}

export function statementsOn(table: string): Statements {
  const read = (content: string) =>
    `SELECT number, head, ${content}, expires_at FROM ${table} ` +
    "WHERE stream = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
  return {
    // The conflict target makes a table without this primary key fail, instead of storing two rows with one key.
    insert: statement(
      `INSERT INTO ${table} (stream, number, head, content, expires_at) VALUES ($1, $2, $3, $4, $5) ` +
        "ON CONFLICT (stream, number) DO NOTHING",
    ),
    readRows: statement(read("content")),
    readHeads: statement(read("NULL AS content")),
    amend: statement(amendOn(table)),
    streams: statement(streamsOn(table)),
  };
}

/**
 * $2 is an array of `RowChange` (see amend.ts) in ascending ranges that do not overlap, so that a row is changed once. Unchanged rows
 * get no new row version. A comparison with NULL is never true, so rows that never expire are not extended.
 *
 * The rows are locked in ascending order before they are updated: an UPDATE alone locks them in the order of its plan, and the
 * server ends a deadlock of two plans only after a second. The array of their numbers makes every plan find them by their keys:
 * with only the ranges, the planner, which cannot know how many there are, reads the whole stream if the table has no
 * statistics yet.
 */
function amendOn(table: string): string {
  const changes = `jsonb_to_recordset($2::jsonb) AS c(
  since bigint, until bigint, blank_all boolean, blank jsonb,
  sets_expiry boolean, expires_at bigint, at_least bigint, extend_to bigint
)`;
  return `
UPDATE ${table} AS r SET
  content = CASE
    WHEN c.blank_all THEN NULL
    WHEN c.blank IS NULL THEN r.content
    ELSE coalesce((
      SELECT string_agg(
        CASE WHEN EXISTS (
          SELECT FROM jsonb_to_recordset(c.blank) AS b(since int, until int) WHERE x.position > b.since AND x.position <= b.until
        ) THEN '' ELSE x.text END,
        chr(30) ORDER BY x.position)
      FROM unnest(string_to_array(r.content, chr(30))) WITH ORDINALITY AS x(text, position)
    ), r.content)
  END,
  expires_at = CASE
    WHEN c.sets_expiry THEN c.expires_at
    WHEN r.expires_at >= c.at_least AND (c.extend_to IS NULL OR r.expires_at < c.extend_to) THEN c.extend_to
    ELSE r.expires_at
  END
FROM ${changes}
WHERE r.stream = $1 AND r.number >= c.since AND r.number < c.until AND r.number = ANY (ARRAY(
  SELECT locked.number FROM ${changes} CROSS JOIN LATERAL (
    SELECT number FROM ${table} AS r WHERE stream = $1 AND number >= c.since AND number < c.until AND (
      (c.blank_all AND r.content IS NOT NULL)
      OR c.blank IS NOT NULL
      OR (c.sets_expiry AND r.expires_at IS DISTINCT FROM c.expires_at)
      OR (r.expires_at >= c.at_least AND (c.extend_to IS NULL OR r.expires_at < c.extend_to))
    ) ORDER BY number FOR UPDATE
  ) AS locked
))`.trim();
}

/**
 * Selects at most $3 streams with a root whose names begin with $1 and come after $2, in byte order. Each step searches an
 * index for the next name, so rows and roots between two names cost nothing. It uses the index of roots, or the primary key
 * if that index is missing. FIRST_ROW is not a parameter, so that the planner can prove that the partial index applies.
 */
function streamsOn(table: string): string {
  const next = (names: string) =>
    `(SELECT stream FROM ${table} WHERE ${names} AND number < ${FIRST_ROW} ORDER BY stream LIMIT 1)`;
  return `
WITH RECURSIVE found AS (
  SELECT ${next("stream >= $1 AND stream > $2")} AS stream, 1 AS place
  UNION ALL
  SELECT ${next("stream > found.stream")}, place + 1
  FROM found WHERE left(found.stream, length($1)) = $1 AND place < $3
)
SELECT stream FROM found WHERE left(stream, length($1)) = $1 ORDER BY place`.trim();
}

/** The statement of a text. */
export function statement(text: string): Statement {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return { text, name: `scrollback_${digest}` };
}
