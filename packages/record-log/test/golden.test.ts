import { readFileSync } from "node:fs";
import { runGolden } from "@scrollback/conformance";
import { expect, test } from "vitest";
import { RecordLogDriver } from "../src/index.ts";
import { logOf } from "./golden/stored-log.ts";

const { facts, stored } = JSON.parse(readFileSync(new URL("golden/format-1.json", import.meta.url), "utf8"));

runGolden({
  name: "a record log, format 1",
  facts,
  async load() {
    const driver = new RecordLogDriver(await logOf(stored));
    return { driver, close: () => driver.close() };
  },
});

test("the record log's golden file has every feature of its format", () => {
  const rows: { head: string }[] = Object.values<{ head: string }[]>(stored).flat();
  const keys = new Set(rows.flatMap(({ head }) => Object.keys(JSON.parse(head))));
  // A root, fragments and their upload, a pinned message, metadata, a drop, dead texts and rows, blank rows, an expiry.
  for (const key of "bfUgmqDFSXKP") expect([...keys], "the keys of heads").toContain(key);
  expect(JSON.stringify(stored.trimmed), "blanked texts").toContain('"texts":[""]');
  expect(JSON.stringify(stored.expiring), "expiry").toContain('"expiresAt"');
});
