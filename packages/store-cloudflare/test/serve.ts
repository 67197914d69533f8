/** Runs the Worker of the tests until it is killed. Arguments: a folder for its data, and a port. Prints a line when it is ready. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { embeddedTexts } from "../../../scripts/embedded-texts.ts";

const [, , folder = "", port = "0"] = process.argv;
const worker = join(folder, "worker.mjs");
// A restart has the Worker of the start.
if (!existsSync(worker))
  await build({
    entryPoints: [join(import.meta.dirname, "worker.ts")],
    outfile: worker,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "es2024",
    conditions: ["scrollback-source", "workerd", "worker", "browser"],
    external: ["cloudflare:*", "pg-native", "vitest"],
    logLevel: "error",
    plugins: [embeddedTexts],
    banner: {
      js: 'import { createRequire as cr } from "node:module"; const require = cr("file:///bundle.mjs");',
    },
  });
const miniflare = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents: readFileSync(worker, "utf8") }],
  compatibilityDate: "2026-07-30",
  compatibilityFlags: ["nodejs_compat"],
  d1Databases: ["DB"],
  durableObjects: {
    OBJECTS: { className: "Chats", useSQLite: true },
    // What these hold is in memory.
    DRIVERS: { className: "HeldDriver", unsafePreventEviction: true },
  },
  d1Persist: join(folder, "d1"),
  durableObjectsPersist: join(folder, "objects"),
  host: "127.0.0.1",
  port: Number(port),
});
const { port: used } = await miniflare.ready;
console.log(used);
