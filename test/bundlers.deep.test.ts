import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { build as esbuild } from "esbuild";
import { Client } from "pg";
import { build as vite } from "vite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { packedPackages, userEnvironment } from "../conformance-tests/test/fixtures/pack-packages.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");

/** The command's option of docs/how-to/deploy.md. */
async function documentedBanner(): Promise<string> {
  const page = await readFile(join(root, "docs/how-to/deploy.md"), "utf8");
  const [, banner] = /--banner:js='([^']+)'/.exec(page) ?? [];
  return banner ?? expect.unreachable("the page has no banner");
}

/** Each bundler puts a program and all packages that it finds into files of a folder, without Node's modules. */
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
    const output = { entryFileNames: "vite.mjs", chunkFileNames: "[name]-[hash].mjs" };
    await vite({
      configFile: false,
      logLevel: "error",
      root: dirname(program),
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

const program = join(import.meta.dirname, "bundled/program.ts");
let temp = "";
/** The program in a folder where only one adapter is installed. */
let sparseProgram = "";
beforeAll(async () => {
  temp = await mkdtemp(join(tmpdir(), "scrollback-bundle-"));
  const folder = join(temp, "sparse");
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const packages = await packedPackages(["packages/store-core", "packages/store-sqlite"]);
  const tarballs = packages.map(({ tarball }) => tarball);
  await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...tarballs], { cwd: folder });
  sparseProgram = join(folder, "program.ts");
  await copyFile(program, sparseProgram);
});
afterAll(() => rm(temp, { recursive: true, force: true }));

describe.each(Object.entries(bundlers))("bundled by %s, without installed packages", (name, bundle) => {
  let bundled = "";
  let sparse = "";
  beforeAll(async () => {
    bundled = await bundle(program, join(temp, `${name}-all`));
    sparse = await bundle(sparseProgram, join(temp, `${name}-sparse`));
  });
  const outputOf = async (file: string, url: string) => {
    // DynamoDB's client signs its requests with these, also for a local server.
    const env = { ...userEnvironment(), AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none" };
    const { stdout } = await run(process.execPath, [file, url], { cwd: dirname(file), env });
    return stdout.trim();
  };

  test.each(networked)("openStores finds the adapter of %s, and its client", async (backend) => {
    expect(await outputOf(bundled, await urlOn(backend))).toBe(`Hello from ${backend}`);
  });

  test("openStores finds the only adapter that was installed, and names the package of another one", async () => {
    expect(await outputOf(sparse, "sqlite::memory:")).toBe("Hello from sqlite");
    expect(await outputOf(sparse, "redis://127.0.0.1")).toBe(
      "openStores: @scrollback/store-redis was not found; run: npm install @scrollback/store-redis ioredis",
    );
  });

  test("PostgreSQL's setup() makes the schema in an empty database", async () => {
    const url = new URL(await urlOn("postgres"));
    const database = `bundled_${crypto.randomUUID().slice(0, 8)}`;
    const admin = new Client(url.href);
    await admin.connect();
    onTestFinished(() => admin.end());
    await admin.query(`CREATE DATABASE ${database}`);
    url.pathname = database;
    expect(await outputOf(bundled, url.href)).toBe("Hello from postgres");
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  });
});
