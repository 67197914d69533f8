/**
 * A part of the build: copies the examples of docs/how-to/write-an-adapter and their harnesses unchanged into the package, so
 * that an adapter's author who has only the package can start from one that passes the suite.
 */
import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const target = join(import.meta.dirname, "dist/example");
const mariadb = "examples/mariadb";
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
  mariadb: {
    folder: mariadb,
    paths: [
      ...readdirSync(join(root, mariadb, "src")).map((name) => `src/${name}`),
      "test/client.ts",
      "test/queries.ts",
      "test/table.ts",
      "test/harness.ts",
      "test/conformance.deep.test.ts",
      "test/record-log.server.test.ts",
      "test/faults.deep.test.ts",
      "test/under-fire.deep.test.ts",
    ],
  },
};

rmSync(target, { recursive: true, force: true });
for (const [name, { folder, paths }] of Object.entries(examples)) {
  for (const path of paths) cpSync(join(root, folder, path), join(target, name, path));
}
