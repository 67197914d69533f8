import type { Change } from "./change.ts";

/** Changes to the SQL and the layout of PostgreSQL, below `store-postgres/src/`. */
export const postgresChanges: readonly Change[] = [
  [
    "an insert replaces the row with the same key",
    "C5",
    "statements.ts",
    "DO NOTHING",
    "DO UPDATE SET head = EXCLUDED.head, content = EXCLUDED.content",
  ],
  [
    "cleared rows keep their content",
    "C6",
    "statements.ts",
    "WHEN c.blank_all THEN NULL",
    "WHEN c.blank_all THEN r.content",
  ],
  ["NUL is stored unchanged", "C9", "row.ts", "`[\\\\0", "`["],
  [
    "ids are case-insensitive",
    "C9",
    "row.ts",
    "return [toText(stream),",
    "return [toText(stream.toLowerCase()),",
  ],
  [
    "a lost connection is read as an empty thread",
    "C13",
    "postgres-log.ts",
    "throw withoutValues(error);\n    }\n  }\n}",
    "return { rows: [], rowCount: 0 };\n    }\n  }\n}",
  ],
];
