import { readFileSync } from "node:fs";

const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
);

/** This package's version. */
export const version: string = manifest.version;
