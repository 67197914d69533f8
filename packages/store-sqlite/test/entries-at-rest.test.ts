import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { createSqliteStores } from "../src/index.ts";

test.each([
  ["an entry", {}, true],
  ["an expired entry", { expiresAt: Date.now() - 1 }, false],
])("%s that was removed is in no file when the call returns", async (_, expiry, isFound) => {
  const url = scratchUrl();
  await using stores = createSqliteStores({ url });
  const path = url.replace("sqlite:", "");
  const text = () => ["", "-wal"].map((end) => readFileSync(path + end, "latin1")).join();
  const index = stores.index("list");
  const place = { key: "the-key", id: "1" };
  await index.insert(place, { version: 1, order: 1, value: "the-value", ...expiry });
  expect(text()).toMatch(/the-key/);
  expect(await index.remove(place)).toBe(isFound);
  expect(text()).not.toMatch(/the-key|the-value/);
});
