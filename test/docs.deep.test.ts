import { execFile } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clauses } from "../conformance-tests/src/clauses/index.ts";
import { commonFaults } from "../conformance-tests/src/faults/faults.ts";
import { publishedPackages } from "../scripts/published-packages.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const bin = (name: string) => join(root, "node_modules/.bin", name);
/** Inside the repository, so that the blocks find the packages like a user's code. */
const folder = join(root, ".results/docs");

interface Block {
  readonly page: string;
  readonly line: number;
  /** The text after the language on the fence; `run` marks a block that the test also runs. */
  readonly flags: string;
  readonly code: string;
}

async function blocksOf(page: string): Promise<Block[]> {
  const text = await readFile(join(root, page), "utf8");
  return [...text.matchAll(/^```ts\b([^\n]*)\n(.*?)^```/gms)].map((match) => ({
    page,
    line: text.slice(0, match.index).split("\n").length,
    flags: match[1]?.trim() ?? "",
    code: match[2] ?? "",
  }));
}

interface Manifest {
  readonly scripts: Record<string, string>;
  readonly repository: { readonly url: string };
}
const manifestOf = async (path: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(root, path), "utf8"));

const pages = globSync(
  [
    "*.md",
    "docs/**/*.md",
    "packages/*/README.md",
    "conformance-tests/README.md",
    "examples/**/*.md",
    "benchmarks/README.md",
  ],
  { cwd: root, exclude: ["**/node_modules/**"] },
).sort();
/** Blocks in other languages, which a reader types or pastes. */
async function otherBlocksOf(page: string) {
  const text = await readFile(join(root, page), "utf8");
  return [...text.matchAll(/^```(js|json|jsonl|sh)\b[^\n]*\n(.*?)^```/gms)].map(
    ([, language, code = ""]) => ({
      page,
      language,
      code,
    }),
  );
}

const blocks = (await Promise.all(pages.map(blocksOf))).flat();
const otherBlocks = (await Promise.all(pages.map(otherBlocksOf))).flat();
const fileOf = ({ page, line }: Block) => join(folder, `${page.replaceAll(/[/.]/g, "-")}-${line}.ts`);

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const block of blocks) await writeFile(fileOf(block), `${block.code}\nexport {};\n`);
  const options = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { noUnusedLocals: false },
    include: ["*.ts"],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(options));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("every TypeScript block in README and docs compiles", async () => {
  expect(blocks.length).toBeGreaterThan(5);
  const { stdout } = await run(bin("tsc"), ["-p", folder], { cwd: root }).catch((error) => error);
  expect(stdout).toBe("");
});

test.each(blocks.filter((block) => block.flags.includes("run")))(
  "$page:$line runs",
  async (block) => {
    const { stdout } = await run(bin("node"), [fileOf(block)], { cwd: folder, timeout: 30_000 });
    const expected = [...block.code.matchAll(/\/\/ prints: (.*)$/gm)].map((match) => match[1]);
    for (const line of expected) expect(stdout).toContain(line);
  },
  60_000,
);

test("every block of JavaScript and JSON in README and docs parses", async () => {
  const scripts = otherBlocks.filter(({ language }) => language === "js");
  expect(scripts.length).toBeGreaterThan(3);
  for (const { page, code } of scripts) {
    await expect(transform(code, { loader: "js", format: "esm" }), page).resolves.toBeDefined();
  }
  for (const { page, language, code } of otherBlocks) {
    const texts = language === "json" ? [code] : language === "jsonl" ? code.trim().split("\n") : [];
    for (const text of texts) expect(() => JSON.parse(text), page).not.toThrow();
  }
});

test("documented commands exist: packages to install, npm scripts, files of the repository", async () => {
  const packages = new Set(publishedPackages().map(({ name }) => name));
  const { scripts } = await manifestOf("package.json");
  const commands = otherBlocks.filter(({ language }) => language === "sh");
  expect(commands.length).toBeGreaterThan(20);
  for (const { page, code } of commands) {
    for (const [name] of code.matchAll(/@scrollback\/[\w-]+/g)) expect(packages, page).toContain(name);
    for (const [, script] of code.matchAll(/npm run ([\w:-]+)/g))
      expect(scripts, page).toHaveProperty([script ?? ""]);
    for (const [, file] of code.matchAll(/^node ((?!_)[\w./-]+\.ts)/gm)) {
      expect(globSync(file ?? "", { cwd: root }), `${page}: ${file}`).toHaveLength(1);
    }
  }
});

test("the front page names every package and counts the clauses, CONTRIBUTING names every script", async () => {
  const front = await readFile(join(root, "docs/index.md"), "utf8");
  for (const { name } of publishedPackages()) {
    expect(front).toMatch(new RegExp(`\`${name}[\` ]`));
  }
  expect(front).toContain(`${Object.keys(clauses).filter((id) => /^C\d+$/.test(id)).length} clauses`);
  const contributing = await readFile(join(root, "CONTRIBUTING.md"), "utf8");
  const { scripts } = await manifestOf("package.json");
  const [table = ""] = contributing.slice(contributing.indexOf("| `npm run` |")).split("\n\n");
  const named = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
  expect(named.filter((name) => name !== "npm run").sort()).toEqual(Object.keys(scripts).sort());
});

test("every link between the project's own pages has a target", async () => {
  for (const page of pages) {
    const text = await readFile(join(root, page), "utf8");
    for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
      expect(globSync(join(root, dirname(page), target ?? "")), `${page} → ${target}`).toHaveLength(1);
    }
  }
});

test("every link to a file of the repository has a target", async () => {
  const { repository } = await manifestOf("packages/store-core/package.json");
  const home = repository.url.replace(/^git\+|\.git$/g, "");
  const links = (await Promise.all(pages.map((page) => readFile(join(root, page), "utf8")))).flatMap((text) =>
    [...text.matchAll(/\]\((https:[^)#\s]+)/g)].map(([, link = ""]) => link),
  );
  const paths = links.flatMap((link) => {
    const [, path] = link.startsWith(home) ? (/\/(?:blob|tree)\/main\/(.+)$/.exec(link) ?? []) : [];
    return path === undefined ? [] : [path];
  });
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("generated parts of the pages are up to date", async () => {
  await run(bin("node"), ["scripts/pages.ts", "--check"], { cwd: root });
});

test("docs/generated/faults-measured.md has every fault", async () => {
  const table = await readFile(join(root, "docs/generated/faults-measured.md"), "utf8");
  const measured = [...table.matchAll(/^\| (.*?) \|/gm)].map((match) => match[1]);
  expect(measured).toEqual(expect.arrayContaining(Object.keys(commonFaults)));
});
