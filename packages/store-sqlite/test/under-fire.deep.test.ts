import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { runFaults } from "@scrollback/conformance";
import { connectionOf } from "../src/clients/index.ts";
import { SqliteDriver } from "../src/sqlite-driver.ts";
import { createSqliteHarness, TABLE_PREFIX } from "./harness.ts";

runFaults({
  name: "SQLite",
  createHarness: createSqliteHarness,
  faults: {
    /** SQLite reports a full disk when a file has reached its maximum number of pages. */
    async "disk full"({ backend, rounds, underLoad }) {
      const path = String(backend.harness.childProcess?.data);
      const files = Array.from({ length: 3 }, () => new DatabaseSync(path));
      const allow = (pages: number) => {
        for (const file of files) file.exec(`PRAGMA max_page_count = ${pages}`);
      };
      const clients = files.map(
        (client) => new SqliteDriver({ connection: connectionOf(client) }, TABLE_PREFIX),
      );
      const fill = async () => {
        for (let round = 0; round < rounds(2, 20); round++) {
          allow(1);
          await sleep(300);
          allow(1_000_000);
          await sleep(50);
        }
      };
      // A retry cannot succeed before someone frees space.
      const figure = await underLoad(fill, { clients, retryable: false });
      for (const file of files) file.close();
      return figure;
    },
  },
});
