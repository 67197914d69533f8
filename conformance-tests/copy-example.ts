/**
 * `npm pack` runs this first: it puts the example of docs/write-an-adapter.md and its harness into the package, as they are in
 * `examples`, so that who has only the package can copy an adapter that passes the suite.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";

const example = join(import.meta.dirname, "example");
const files = [
  "file-record-log.ts",
  "sweep-files.ts",
  "test/file-harness.ts",
  "test/conformance-file.test.ts",
];

rmSync(example, { recursive: true, force: true });
for (const file of files) cpSync(join(import.meta.dirname, "../examples", file), join(example, file));
