import { runConformance } from "@scrollback/conformance";
import { sqliteDocumentsHarness } from "./harness.ts";

runConformance({ name: "SQLite documents", createHarness: sqliteDocumentsHarness });
