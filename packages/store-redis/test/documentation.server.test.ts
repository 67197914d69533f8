import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";

const run = promisify(execFile);
const address = "redis://localhost:6379";

// The programs write to the default prefix, so each page gets a database of its own.
test.concurrent.each([
  ["../README.md", 10],
  ["../../../docs/reference/store-redis.md", 11],
])("the programs in %s run and end by themselves", async (page, database) => {
  const server = await sharedServer("redis");
  const text = readFileSync(new URL(page, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```[jt]s[^\n]*\n(.*?)^```/gms)].map(([, code = ""]) => code);
  const programs = blocks.filter((code) => code.includes(address));
  expect(programs.length).toBeGreaterThan(0);
  for (const code of programs) {
    const flags = [
      "--input-type=module-typescript",
      "--eval",
      code.replaceAll(address, `${server.url}/${database}`),
    ];
    const { stdout } = await run(process.execPath, flags, {
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      timeout: 20_000,
    });
    expect(stdout).toMatch(/Hello|replica has it/);
  }
});
