import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { type Fault, runFaults } from "@scrollback/conformance";
import { formatLoad, underLoad } from "@scrollback/conformance/internal";
import { SqliteDriver } from "../src/sqlite-driver.ts";
import { createSqliteHarness, TABLE_PREFIX } from "./harness.ts";

/** SQLite reports a full disk when a file has reached its maximum number of pages. */
const diskFull: Fault = async ({ backend, rounds }) => {
  const path = String(backend.harness.childProcess?.data);
  const files = Array.from({ length: 3 }, () => new DatabaseSync(path));
  const allow = (pages: number) => {
    for (const file of files) file.exec(`PRAGMA max_page_count = ${pages}`);
  };
  const figure = await underLoad(
    async () => {
      for (let round = 0; round < rounds(2, 20); round++) {
        allow(1);
        await sleep(300);
        allow(1_000_000);
        await sleep(50);
      }
    },
    {
      clients: files.map((client) => new SqliteDriver({ client }, TABLE_PREFIX)),
      sound: backend.driver,
      // A retry cannot succeed before someone frees space.
      retryable: false,
    },
  );
  for (const file of files) file.close();
  return formatLoad(figure);
};

runFaults({ name: "SQLite", createHarness: createSqliteHarness, faults: { "disk full": diskFull } });
