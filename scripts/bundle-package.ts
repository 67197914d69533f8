/**
 * `node ../../scripts/bundle-package.ts [name]` in a package: the part of its build that writes JavaScript; the types are written by `tsc`.
 * Each entry point of the manifest is a file of `dist`, and what several of them use is in chunks: Node loads a few large files much
 * faster than many small ones. Other packages stay imports.
 *
 * `name`: a module of `src` that reads files. Its values are put into the bundle, so that a program needs no files beside it.
 */
import { globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

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

/** Replaces the module of that name by the values that it has now. */
const withValuesOf = (name: string): Plugin => ({
  name: "values",
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`/src/${name}\\.ts$`) }, async ({ path }) => {
      const values = Object.entries(await import(pathToFileURL(path).href));
      const contents = values.map(([key, value]) => `export const ${key} = ${JSON.stringify(value)};`);
      return { contents: contents.join("\n") };
    });
  },
});

for (const old of globSync("dist/**/*.js{,.map}", { cwd: folder, exclude: ["dist/example/**"] }))
  rmSync(join(folder, old));
const embedded = process.argv[2];
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
  plugins: embedded === undefined ? [] : [withValuesOf(embedded)],
});
