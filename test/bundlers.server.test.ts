import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const run = promisify(execFile);
const entry = join(import.meta.dirname, "bundled/program.ts");

/** Each bundler writes one file with the program and all packages, except Node's modules. */
const bundlers: Record<string, (folder: string) => Promise<string>> = {
  esbuild: async (folder) => {
    const outfile = join(folder, "esbuild.mjs");
    await esbuild({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    return outfile;
  },
  "Vite SSR": async (folder) => {
    const output = { entryFileNames: "vite.mjs" };
    await vite({
      configFile: false,
      logLevel: "warn",
      root: import.meta.dirname,
      build: {
        ssr: entry,
        outDir: folder,
        emptyOutDir: false,
        target: "node22",
        rolldownOptions: { output },
      },
      ssr: { noExternal: true },
    });
    return join(folder, "vite.mjs");
  },
};

describe.each(Object.entries(bundlers))("bundled by %s, without installed packages", (_, bundle) => {
  let folder = "";
  let file = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "scrollback-bundle-"));
    file = await bundle(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const outputOf = async (...args: string[]) => {
    const { stdout } = await run(process.execPath, [file, ...args], { cwd: folder });
    return stdout.trim();
  };

  test("openStores uses the given adapter", async () => {
    expect(await outputOf("adapters")).toBe("Hello from a bundle");
  });

  test("openStores says how to pass an adapter that it would have to load", async () => {
    expect(await outputOf()).toBe(
      "openStores: @scrollback/store-sqlite was not found; run: npm install @scrollback/store-sqlite; " +
        'or, in a bundled program, give it: openStores(url, { adapters: { "sqlite": createSqliteStores } })',
    );
  });
});
