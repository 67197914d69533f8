import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packedPackages, userEnvironment } from "../conformance-tests/test/fixtures/pack-packages.ts";

const run = promisify(execFile);
const npm = (cwd: string, ...args: string[]) => run("npm", args, { cwd });

const clients = [
  "ai@7",
  "ioredis@6",
  "resumable-stream@2",
  "mongodb@7",
  "@aws-sdk/client-dynamodb@3",
  "pg@8",
  "@types/pg@8",
  "@openai/agents-openai@0.20.0",
  "openai@7.57.0",
  "@anthropic-ai/sdk@1.14.0",
];
/** The packages side by side, each with a separate name. */
const compilers = {
  "5.4": "typescript-5.4@npm:typescript@5.4.5",
  "5.9": "typescript-5.9@npm:typescript@5.9.3",
  newest: "typescript-newest@npm:typescript@7",
};
const nodes = {
  "22": "node-22@npm:@types/node@22",
  "24": "node-24@npm:@types/node@24",
  newest: "node-newest@npm:@types/node@26",
};

let app = "";

/** The program with which Node.js compiles. The newest TypeScript is fast, and lacks the API that the other program needs. */
const compilerOf = (compiler: string): string[] =>
  compiler === "newest"
    ? [join(app, "node_modules/typescript-newest/bin/tsc")]
    : [join(import.meta.dirname, "typed/own-errors.ts"), `typescript-${compiler}`];

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), "scrollback-types-"));
  const tarballs = (await packedPackages()).map(({ tarball }) => tarball);
  // Genkit's optional telemetry for Firebase is 200 MB.
  const overrides = { "@genkit-ai/firebase": "npm:@favware/skip-dependency@1.2.2" };
  const manifest = { name: "app", private: true, type: "module", overrides };
  await writeFile(join(app, "package.json"), JSON.stringify(manifest));
  const versions = [...Object.values(compilers), ...Object.values(nodes)];
  // The types do not need the results of install scripts.
  await npm(
    app,
    "install",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    ...tarballs,
    ...clients,
    ...versions,
  );
  await cp(join(import.meta.dirname, "typed/program.ts"), join(app, "program.ts"));
}, 600_000);
afterAll(() => rm(app, { recursive: true, force: true }));

describe.each(Object.keys(nodes))("with @types/node %s", (node) => {
  beforeAll(async () => {
    const types = join(app, "node_modules/@types/node");
    await rm(types, { recursive: true, force: true });
    await symlink(join(app, "node_modules", `node-${node}`), types);
  });

  const ways = Object.keys(compilers).flatMap((compiler) =>
    // Module resolution hardly depends on Node's types, and each program takes seconds.
    (node === "newest" ? ["nodenext", "bundler"] : ["nodenext"]).map((resolution) => ({
      compiler,
      resolution,
    })),
  );
  test.each(ways)(
    "the packages' types are valid for TypeScript $compiler, $resolution",
    async ({ compiler, resolution }) => {
      const module = resolution === "bundler" ? "esnext" : resolution;
      const flags = `--noEmit --strict --target es2022 --lib es2023,esnext.disposable,dom --types node --skipLibCheck false --module ${module} --moduleResolution ${resolution}`;
      const program = compilerOf(compiler);
      const { stdout } = await run(process.execPath, [...program, ...flags.split(" "), "program.ts"], {
        cwd: app,
        env: userEnvironment(),
      }).catch(({ stdout, stderr }: Record<"stdout" | "stderr", string>) => ({ stdout: stdout + stderr }));
      // Ignores errors in the types of other packages.
      const errors = stdout
        .split("\n")
        .filter((line) => /^(program\.ts|.*@scrollback\/|error |\w*Error: )/.test(line));
      expect(errors).toEqual([]);
    },
    240_000,
  );
});
