/**
 * `node ../../scripts/embed-texts.ts <name>` in a package: part of its build. Writes `dist/<name>.js` with the values that
 * `src/<name>.ts` reads from files, so that a bundled program needs no files beside it.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const name = process.argv[2] ?? "";
const values = await import(pathToFileURL(join("src", `${name}.ts`)).href);
const lines = Object.entries(values).map(
  ([key, value]) => `export const ${key} = ${JSON.stringify(value)};\n`,
);
writeFileSync(join("dist", `${name}.js`), lines.join(""));
