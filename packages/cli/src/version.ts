import { readFileSync } from "node:fs";

// From a folder that is as deep as the one of the bundle.
const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
);

/** This package's version. */
export const version: string = manifest.version;
