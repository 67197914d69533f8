/**
 * A part of the build: copies the examples of docs/how-to/write-an-adapter.md and their tests unchanged into the package, so that an
 * adapter's author who has only the package can start from one that passes the suite.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";

const examples = join(import.meta.dirname, "../../examples");
const target = join(import.meta.dirname, "dist/example");

rmSync(target, { recursive: true, force: true });
for (const name of ["sql", "mariadb"]) cpSync(join(examples, name), join(target, name), { recursive: true });
