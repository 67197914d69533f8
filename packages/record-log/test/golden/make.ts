/**
 * `node test/golden/make.ts` writes threads in the current format, as the rows of a record log, with the facts that their writes returned.
 * It runs once for each version of the format: an existing file is never overwritten.
 */
import { writeFileSync } from "node:fs";
import { writeGolden } from "@scrollback/conformance";
import { RecordLogDriver } from "../../src/index.ts";
import { NamedLog } from "./stored-log.ts";

const log = new NamedLog();
const facts = await writeGolden(new RecordLogDriver(log));
const content = { facts, stored: await log.stored() };
writeFileSync(new URL("format-1.json", import.meta.url), `${JSON.stringify(content, null, 2)}\n`, {
  flag: "wx",
});
