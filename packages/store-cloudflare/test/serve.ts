/** Runs the Worker of the tests until it is killed. Arguments: a folder for its data, and a port. Prints a line when it is ready. */
import { join } from "node:path";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const [, , folder = "", port = "0"] = process.argv;
const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, "worker.ts")],
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  target: "es2024",
  conditions: ["scrollback-source", "workerd", "worker", "browser"],
  external: ["cloudflare:workers"],
  logLevel: "error",
  banner: {
    js: 'import { createRequire as cr } from "node:module"; const require = cr("file:///bundle.mjs");',
  },
});
const miniflare = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0]?.text ?? "" }],
  compatibilityDate: "2026-07-30",
  compatibilityFlags: ["nodejs_compat"],
  d1Databases: ["DB"],
  durableObjects: { OBJECTS: { className: "Chats", useSQLite: true } },
  d1Persist: join(folder, "d1"),
  durableObjectsPersist: join(folder, "objects"),
  host: "127.0.0.1",
  port: Number(port),
});
const { port: used } = await miniflare.ready;
console.log(used);
