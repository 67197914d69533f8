/** `node build.ts` builds the site into `dist`: stages the pages, writes the API reference and llms.txt, and checks all links. */
import { rmSync } from "node:fs";
import { build } from "vitepress";
import { writeApi } from "./api.ts";
import { checkLinks } from "./link-check.ts";
import { writeLlms } from "./llms.ts";
import { staged } from "./places.ts";
import { stagePages } from "./stage.ts";

rmSync(staged, { recursive: true, force: true });
stagePages();
await writeApi();
await build(import.meta.dirname);
writeLlms();
const problems = checkLinks();
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
