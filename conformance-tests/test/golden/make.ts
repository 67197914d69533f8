/**
 * `node test/golden/make.ts` writes what threads of today's format look like in a record log and in the states of memory
 * stores, and what was given out for them. Once for each version of the format: a file that is there is never written again.
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
