import { runConformance } from "@scrollback/conformance";
import { createBetterSqlite3Harness } from "./better-sqlite3-harness.ts";

runConformance({ name: "SQLite by better-sqlite3", createHarness: createBetterSqlite3Harness });
