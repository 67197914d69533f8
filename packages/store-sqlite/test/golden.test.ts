import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runGolden } from "@scrollback/conformance";
import { connect } from "./harness.ts";
import { Scratch } from "./scratch.ts";

const golden = join(import.meta.dirname, "golden");

runGolden({
  name: "SQLite, layout 1",
  facts: JSON.parse(readFileSync(join(golden, "layout-1.json"), "utf8")),
  async load() {
    const scratch = new Scratch();
    scratch.make();
    copyFileSync(join(golden, "layout-1.sqlite"), scratch.path);
    const driver = connect(scratch.path);
    return {
      driver,
      async close() {
        await driver.close();
        scratch.remove();
      },
    };
  },
});
