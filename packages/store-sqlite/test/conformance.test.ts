import { runConformance } from "@scrollback/conformance";
import { createSqliteHarness } from "./harness.ts";

runConformance({ name: "SQLite", createHarness: createSqliteHarness });
