/**
 * A part of the build: copies the examples of docs/how-to/write-an-adapter and their harnesses unchanged into the package, so
 * that an adapter's author who has only the package can start from one that passes the suite.
 */
import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const target = join(import.meta.dirname, "dist/example");
const postgres = "packages/store-postgres";
const examples = {
  files: {
    folder: "examples",
    paths: [
      "file-record-log.ts",
      "sweep-files.ts",
      "test/file-harness.ts",
      "test/conformance-file.deep.test.ts",
    ],
  },
  postgres: {
    folder: postgres,
    paths: [
      ...readdirSync(join(root, postgres, "src")).map((name) => `src/${name}`),
      "test/client.ts",
      "test/queries.ts",
      "test/table.ts",
      "test/harness.ts",
      "test/conformance.deep.test.ts",
      "test/record-log.deep.test.ts",
      "test/faults.deep.test.ts",
      "test/under-fire.deep.test.ts",
    ],
  },
};

rmSync(target, { recursive: true, force: true });
for (const [name, { folder, paths }] of Object.entries(examples)) {
  for (const path of paths) cpSync(join(root, folder, path), join(target, name, path));
}
