/**
 * `node test/golden/make.ts` writes a database with the current layout, and the results that callers got for it. It runs once
 * per version of the layout, and never overwrites a file, because users have databases like it.
 */
import { constants, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeGolden } from "@scrollback/conformance";
import { connect } from "../harness.ts";

const directory = mkdtempSync(join(tmpdir(), "scrollback-golden-"));
const path = join(directory, "chats.db");
const driver = connect(path);
const facts = await writeGolden(driver);
await driver.close();
copyFileSync(path, join(import.meta.dirname, "layout-1.sqlite"), constants.COPYFILE_EXCL);
writeFileSync(join(import.meta.dirname, "layout-1.json"), `${JSON.stringify(facts, null, 2)}\n`, {
  flag: "wx",
});
rmSync(directory, { recursive: true });
