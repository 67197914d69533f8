import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** A file of the page. */
interface PageFile {
  readonly type: string;
  readonly text: string;
}

const folder = join(import.meta.dirname, "page");
const read = (name: string) => readFileSync(join(folder, name), "utf8");
const { outputFiles } = await build({
  entryPoints: [join(folder, "main.ts")],
  bundle: true,
  minify: true,
  write: false,
  format: "esm",
  platform: "browser",
  target: "es2022",
  logLevel: "warning",
});

/** The files of the page by their paths. The build of the package puts their texts in the place of this module. */
export const pageFiles: Readonly<Record<string, PageFile>> = {
  "/": { type: "text/html", text: read("index.html") },
  "/icon.svg": { type: "image/svg+xml", text: read("icon.svg") },
  "/page.css": { type: "text/css", text: read("page.css") },
  "/page.js": { type: "text/javascript", text: outputFiles[0]?.text ?? "" },
};
