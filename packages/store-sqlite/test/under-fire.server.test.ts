import { runFaults } from "@scrollback/conformance";
import { createSqliteHarness } from "./harness.ts";

runFaults({ name: "SQLite", createHarness: createSqliteHarness });
