import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";

const run = promisify(execFile);
const address = "redis://localhost:6379";

test.each(["../README.md", "../../../docs/reference/store-redis.md"])(
  "the programs in %s run and end by themselves",
  async (page) => {
    await using server = await startServer("redis");
    const text = readFileSync(new URL(page, import.meta.url), "utf8");
    const blocks = [...text.matchAll(/^```ts[^\n]*\n(.*?)^```/gms)].map(([, code = ""]) => code);
    const programs = blocks.filter((code) => code.includes(address));
    expect(programs.length).toBeGreaterThan(0);
    for (const code of programs) {
      const flags = ["--input-type=module-typescript", "--eval", code.replaceAll(address, server.url)];
      const { stdout } = await run(process.execPath, flags, {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
        timeout: 20_000,
      });
      expect(stdout).toMatch(/Hello|replica has it/);
    }
  },
);
