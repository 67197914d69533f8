import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { build as esbuild } from "esbuild";
import { Client } from "pg";
import { build as vite } from "vite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { userEnvironment } from "../conformance-tests/test/fixtures/pack-packages.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");

/** The command's option of docs/how-to/bundlers.md. */
async function documentedBanner(): Promise<string> {
  const page = await readFile(join(root, "docs/how-to/bundlers.md"), "utf8");
  const [, banner] = /--banner:js='([^']+)'/.exec(page) ?? [];
  return banner ?? expect.unreachable("the page has no banner");
}

/** Each bundler writes one file with a program and all packages, except Node's modules. */
const bundlers: Record<string, (program: string, folder: string) => Promise<string>> = {
  esbuild: async (program, folder) => {
    const outfile = join(folder, "esbuild.mjs");
    await esbuild({
      entryPoints: [program],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node22",
      banner: { js: await documentedBanner() },
      logLevel: "error",
    });
    return outfile;
  },
  "Vite SSR": async (program, folder) => {
    const output = { entryFileNames: "vite.mjs" };
    await vite({
      configFile: false,
      logLevel: "error",
      root: import.meta.dirname,
      build: {
        ssr: program,
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

const networked = ["redis", "mongodb", "dynamodb", "postgres"] as const;

async function urlOn(name: (typeof networked)[number]): Promise<string> {
  const { url } = await sharedServer(name);
  return name === "dynamodb" ? `dynamodb://bundled?region=eu-central-1&endpoint=${url}` : url;
}

describe.each(Object.entries(bundlers))("bundled by %s, without installed packages", (_, bundle) => {
  let folder = "";
  const files = new Map<string, string>();
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "scrollback-bundle-"));
    for (const program of ["program.ts", "every-adapter.ts"]) {
      const own = join(folder, basename(program, ".ts"));
      files.set(program, await bundle(join(import.meta.dirname, "bundled", program), own));
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const outputOf = async (program: string, ...args: string[]) => {
    // DynamoDB's client signs its requests with these, also for a local server.
    const env = { ...userEnvironment(), AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none" };
    const { stdout } = await run(process.execPath, [files.get(program) ?? "", ...args], { cwd: folder, env });
    return stdout.trim();
  };

  test("openStores uses the given adapter", async () => {
    expect(await outputOf("program.ts", "adapters")).toBe("Hello from a bundle");
  });

  test("openStores says how to pass an adapter that it would have to load", async () => {
    expect(await outputOf("program.ts")).toBe(
      "openStores: @scrollback/store-sqlite was not found; run: npm install @scrollback/store-sqlite; " +
        'or, in a bundled program, give it: openStores(url, { adapters: { "sqlite": createSqliteStores } })',
    );
  });

  test.each(networked)("the adapter of %s works, with its client in the same file", async (name) => {
    const url = await urlOn(name);
    // Its SQL files are in no bundle.
    if (name === "postgres") {
      await using stores = await openStores(url);
      await stores.setup();
    }
    expect(await outputOf("every-adapter.ts", url)).toBe(`Hello from ${name}`);
  });

  test("PostgreSQL's setup() says what to do where the schema is not there", async () => {
    const url = new URL(await urlOn("postgres"));
    const database = `bundled_${crypto.randomUUID().slice(0, 8)}`;
    const admin = new Client(url.href);
    await admin.connect();
    onTestFinished(() => admin.end());
    await admin.query(`CREATE DATABASE ${database}`);
    url.pathname = database;
    const error = await outputOf("every-adapter.ts", url.href).catch(({ stderr }) => stderr);
    expect(error).toContain("UNSUPPORTED");
    expect(error).toContain("the package's SQL files are not beside its code");
    expect(error).toContain(
      "by the command: scrollback setup <url>; or leave @scrollback/store-postgres out",
    );
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });
});
