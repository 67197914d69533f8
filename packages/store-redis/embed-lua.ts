import { writeFileSync } from "node:fs";
import * as texts from "./src/lua.ts";

// Part of the build, see src/lua.ts.
const lines = Object.entries(texts).map(
  ([name, text]) => `export const ${name} = ${JSON.stringify(text)};\n`,
);
writeFileSync(new URL("dist/lua.js", import.meta.url), lines.join(""));
