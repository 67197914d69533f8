import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../.results/", import.meta.url));

/** Makes a folder for database files. It is one of the benchmark, because the system's temporary folder may be in memory. */
export function newFolder(name: string): string {
  mkdirSync(FOLDER, { recursive: true });
  return mkdtempSync(join(FOLDER, `${name}-`));
}
