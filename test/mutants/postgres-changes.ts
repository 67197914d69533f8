/** A line of a source file, and its replacement. */
export type Change = readonly [name: string, breaks: string, file: string, from: string, to: string];

const COMMIT = "sql/002-commit.sql";
const THREADS = "sql/003-threads.sql";
const ENTRIES = "sql/004-entries.sql";

/** Changes to the SQL of PostgreSQL and to its driver, below `store-postgres/`. */
export const postgresChanges: readonly Change[] = [
  [
    "a commit does not lock the thread's row",
    "C17",
    COMMIT,
    "id = p_id FOR UPDATE;\n    v_is_there",
    "id = p_id;\n    v_is_there",
  ],
  [
    "operation ids are not looked up",
    "C4",
    COMMIT,
    `v_tag, p_digest, v_now) ON CONFLICT DO NOTHING;`,
    `v_tag, p_digest, v_now) ON CONFLICT (tenant, life, operation) DO UPDATE SET number = v_number;`,
  ],
  [
    "a commit retried after a deletion is applied again",
    "C21",
    COMMIT,
    "thread = v_thread AND at > v_now - interval '10 s'",
    "thread = v_thread AND false",
  ],
  [
    "any revision matches the expected one",
    "C5",
    COMMIT,
    "IF p_expected <> v_revision THEN\n        RETURN",
    "IF false THEN\n        RETURN",
  ],
  [
    "a commit continues an expired thread",
    "C11",
    COMMIT,
    "AND v_last.number > 0 AND (v_last.expires_at IS NULL OR v_last.expires_at > v_now);",
    "AND v_last.number > 0;",
  ],
  ["ttlMs is treated as microseconds", "C11", COMMIT, "* 1000) + p_ttl,", "* 1000) + p_ttl / 1000,"],
  [
    "one message too few is dropped",
    "Model",
    COMMIT,
    "v_next := greatest(v_next - p_drop, v_first);",
    "v_next := greatest(v_next - p_drop + 1, v_first);",
  ],
  [
    "a clear leaves the messages",
    "C6",
    COMMIT,
    `  IF p_drop < 0 THEN
    DELETE FROM "scrollback".messages WHERE tenant = v_tenant AND life = v_life;`,
    "  IF p_drop < 0 THEN",
  ],
  [
    "exact trimming keeps one message too many",
    "C6",
    COMMIT,
    "v_first := v_next - p_max;",
    "v_first := v_next - p_max - 1;",
  ],
  [
    "turns start at an answer",
    "C6",
    COMMIT,
    "substr(record, 2, 1) = 'u' ORDER",
    "substr(record, 2, 1) = 'o' ORDER",
  ],
  [
    "trimmed rows are kept",
    "C6",
    COMMIT,
    "AND sequence >= v_from AND sequence < v_first\n",
    "AND sequence >= v_from AND sequence < v_from\n",
  ],
  ["metadata is never removed", "C18", COMMIT, "THEN nullif(p_metadata, '') WHEN", "THEN p_metadata WHEN"],
  [
    "a thread's times are those of its newest commit",
    "C19",
    COMMIT,
    "created_at = CASE WHEN v_is_alive THEN created_at ELSE",
    "created_at = CASE WHEN false THEN created_at ELSE",
  ],
  [
    "an expired thread is read until it is swept",
    "C11",
    THREADS,
    "WHERE tenant = v_tenant AND id = p_id AND (expires_at IS NULL OR expires_at > clock_timestamp());",
    "WHERE tenant = v_tenant AND id = p_id;",
  ],
  ["a page ends one message too early", "C7", THREADS, "m.sequence > p_after", "m.sequence > p_after + 1"],
  [
    "a deletion leaves the messages",
    "C21",
    THREADS,
    `    DELETE FROM "scrollback".messages WHERE tenant = v_tenant AND life = t.life;\n`,
    "",
  ],
  ["a retried deletion deletes again", "C21", THREADS, "operation = v_operation AND at >", "false AND at >"],
  [
    "a deletion ignores its expected revision",
    "C21",
    THREADS,
    "IF p_expected <> v_revision THEN",
    "IF false THEN",
  ],
  [
    "a page of a listing starts with the last thread of the previous page",
    "C20",
    THREADS,
    "AND id > p_after AND",
    "AND id >= p_after AND",
  ],
  [
    "a listing is in the order of creation",
    "C20",
    THREADS,
    "WINDOW in_order AS (ORDER BY t.id)",
    "WINDOW in_order AS (ORDER BY t.created_at)",
  ],
  [
    "an insert replaces the entry that is there",
    "C23",
    ENTRIES,
    "\n  WHERE e.expires_at <= clock_timestamp();",
    ";",
  ],
  [
    "an update replaces an entry of a higher version",
    "C23",
    ENTRIES,
    "IF v_version < p_version",
    "IF v_version <> p_version",
  ],
  [
    "entries downwards are sorted upwards",
    "C23",
    ENTRIES,
    "ORDER BY left(e.sort, 96) DESC, e.sort DESC LIMIT",
    "ORDER BY left(e.sort, 96), e.sort LIMIT",
  ],
  ["NUL is stored unchanged", "C9", "src/text.ts", "`[\\\\0", "`["],
  [
    "ids are case-insensitive",
    "C9",
    "src/commit.ts",
    "toText(request.threadId),",
    "toText(request.threadId.toLowerCase()),",
  ],
  [
    "a lost connection is read as an empty thread",
    "C13",
    "src/sessions.ts",
    "    } catch (error) {\n      throw withoutValues(error);\n    }\n  }\n}\n\n/** A PGlite",
    "    } catch {\n      return [] as T;\n    }\n  }\n}\n\n/** A PGlite",
  ],
];
