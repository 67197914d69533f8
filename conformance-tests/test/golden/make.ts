/**
 * `node test/golden/make.ts` writes the states of memory stores in the current format, with the facts that their writes returned. It
 * runs once for each version of the format: an existing file is never overwritten.
 */
import { writeFileSync } from "node:fs";
import { MemoryDriver } from "@scrollback/store-core/driver";
import { writeGolden } from "../../src/index.ts";

const content = { facts: await writeGolden(new MemoryDriver()) };
writeFileSync(new URL("memory-1.json", import.meta.url), `${JSON.stringify(content, null, 2)}\n`, {
  flag: "wx",
});
