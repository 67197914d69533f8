/**
 * `node test/golden/make.ts` writes threads in the current format, as the rows of a record log and as the states of memory
 * stores, with the facts that their writes returned. It runs once for each version of the format: an existing file is never
 * overwritten.
 */
import { writeFileSync } from "node:fs";
import { MemoryDriver, RecordLogDriver } from "@scrollback/store-core";
import { writeGolden } from "../../src/index.ts";
import { NamedLog } from "./stored-log.ts";

const write = (file: string, content: unknown) =>
  writeFileSync(new URL(file, import.meta.url), `${JSON.stringify(content, null, 2)}\n`, { flag: "wx" });

const log = new NamedLog();
const facts = await writeGolden(new RecordLogDriver(log));
write("record-log-1.json", { facts, stored: await log.stored() });
write("memory-1.json", { facts: await writeGolden(new MemoryDriver()) });
