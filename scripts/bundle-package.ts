/**
 * `node ../../scripts/bundle-package.ts` in a package: the part of its build that writes JavaScript; the types are written by `tsc`.
 * Each entry point of the manifest is a file of `dist`, and what several of them use is in chunks: Node loads a few large files much
 * faster than many small ones. Other packages stay imports.
 */
import { globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { embeddedTexts } from "./embedded-texts.ts";

/** The condition under which manifests name the sources of their entry points. */
const SOURCE = "scrollback-source";

const folder = process.cwd();
const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The sources of a manifest's entry points, its conditional imports and its commands. */
function sourcesOf(targets: unknown): string[] {
  return Object.entries(Object(targets)).flatMap(([condition, target]) =>
    condition === SOURCE ? [String(target)] : typeof target === "string" ? [] : sourcesOf(target),
  );
}
const commands = Object.values<string>(manifest.bin ?? {}).map((path) =>
  path.replace(/^dist\/(.*)\.js$/, "src/$1.ts"),
);

for (const old of globSync("dist/**/*.js{,.map}", { cwd: folder, exclude: ["dist/example/**"] }))
  rmSync(join(folder, old));
await build({
  absWorkingDir: folder,
  entryPoints: [...sourcesOf(manifest.exports), ...sourcesOf(manifest.imports), ...commands],
  outbase: "src",
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22.13",
  packages: "external",
  external: ["#*"],
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
  plugins: [embeddedTexts],
});
