import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { runVitest } from "../../test/mutants/nested-vitest.ts";

const config = join(import.meta.dirname, "reporter/vitest.config.ts");
vi.setConfig({ testTimeout: 60_000 });
let directory: string;
let file: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "scrollback-matrix-"));
  file = join(directory, "docs/matrix.md");
});
afterAll(() => rm(directory, { recursive: true }));

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runVitest(config, args, { env: { FIXTURE_MATRIX: file, ...env }, timeout: 60_000 });

const node = `Node.js ${process.versions.node}`;
const header = `| Clause | Gone (${node}) | One (${node}) | Two (${node}) |`;

test("a complete run names each backend's server, and prints and writes the matrix", async () => {
  const output = await run([]);
  for (const backend of ["One", "Two", "Gone"])
    expect(output).toContain(`conformance: ${backend} runs on ${node}`);
  expect(output).toContain("| C12 Size | ✓ 1 | ✓ 1 | ✓ 1 |");
  const markdown = await readFile(file, "utf8");
  expect(markdown).toContain(header);
  expect(markdown).toContain("| C1 Order | ✓ 1 ¹ | ✓ 1 ¹ | ✓ 1 ¹ |");
  expect(markdown).toContain("¹ Some tests left out: the driver alone keeps the threads");
});

test("failed tests are shown as failed, and a backend without its server fails", async () => {
  const output = await run([], { FIXTURE_FAILS: "1" });
  expect(output).toContain("conformance: One runs on");
  expect(output).not.toContain("conformance: Gone runs on");
  const markdown = await readFile(file, "utf8");
  expect(markdown).toContain(header.replace(`Gone (${node})`, "Gone"));
  expect(markdown).toContain("| C1 Order | ✗ 2 of 2 | ✓ 1 ¹ | ✓ 1 ¹ |");
  expect(markdown).toContain("| C12 Size | ✗ 1 of 1 | ✗ 1 of 1 | ✗ 1 of 1 |");
});

test("a partial run does not change the file", async () => {
  await writeFile(file, "as it was");
  const output = await run(["-t", "C12"]);
  expect(output).toContain("| C12 Size | ✓ 1 |");
  expect(output).toContain("is left as it is");
  expect(await readFile(file, "utf8")).toBe("as it was");
});
