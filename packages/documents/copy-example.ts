/**
 * A part of the build: copies the example of docs/how-to/write-an-adapter.md and its tests unchanged into the package, so that an
 * adapter's author who has only the package can start from one that passes the suite.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";

const target = join(import.meta.dirname, "dist/example");

rmSync(target, { recursive: true, force: true });
cpSync(join(import.meta.dirname, "../../examples/mariadb"), join(target, "mariadb"), { recursive: true });
