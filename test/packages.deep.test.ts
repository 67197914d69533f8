import { execFile } from "node:child_process";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type PackedPackage,
  packedPackages,
  userEnvironment,
} from "../conformance-tests/test/fixtures/pack-packages.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const bin = (name: string) => join(root, "node_modules/.bin", name);
const folders = {
  "@scrollback/documents": "packages/documents",
  "@scrollback/reducers": "packages/reducers",
  "@scrollback/store-cloudflare": "packages/store-cloudflare",
  "@scrollback/store-core": "packages/store-core",
  "@scrollback/store-dynamo": "packages/store-dynamo",
  "@scrollback/store-libsql": "packages/store-libsql",
  "@scrollback/store-mongo": "packages/store-mongo",
  "@scrollback/store-postgres": "packages/store-postgres",
  "@scrollback/store-redis": "packages/store-redis",
  "@scrollback/store-sqlite": "packages/store-sqlite",
  "@scrollback/agents": "packages/agents",
  "@scrollback/chats": "packages/chats",
  "@scrollback/collections": "packages/collections",
  "@scrollback/sessions": "packages/sessions",
  "@scrollback/bridge-ai-sdk": "packages/bridge-ai-sdk",
  "@scrollback/bridge-claude-agent": "packages/bridge-claude-agent",
  "@scrollback/bridge-genkit": "packages/bridge-genkit",
  "@scrollback/bridge-google-adk": "packages/bridge-google-adk",
  "@scrollback/bridge-openai-agents": "packages/bridge-openai-agents",
  "@scrollback/bridge-strands": "packages/bridge-strands",
  "@scrollback/bridge-langgraph": "packages/bridge-langgraph",
  "@scrollback/cli": "packages/cli",
  "@scrollback/conformance": "conformance-tests",
};
type PackageName = keyof typeof folders;

const repository = "https://github.com/scrollback-js/scrollback";
/** The example of docs/how-to/write-an-adapter.md, for authors who have only the package. */
const exampleFiles = globSync("mariadb/{src,test}/*.ts", { cwd: join(root, "examples") })
  .map((path) => `dist/example/${path}`)
  .sort();

const otherFiles: Partial<Record<PackageName, readonly string[]>> = {
  "@scrollback/documents": exampleFiles,
  "@scrollback/store-redis": readdirSync(join(root, "packages/store-redis/lua"))
    .map((name) => `lua/${name}`)
    .sort(),
  "@scrollback/store-postgres": readdirSync(join(root, "packages/store-postgres/sql"))
    .map((name) => `sql/${name}`)
    .sort(),
};

let temp = "";
const packed = new Map<string, PackedPackage>();

beforeAll(async () => {
  temp = await mkdtemp(join(tmpdir(), "scrollback-packages-"));
  for (const one of await packedPackages(Object.values(folders))) packed.set(one.name, one);
});
afterAll(() => rm(temp, { recursive: true, force: true }));

const tarball = (name: PackageName) => packed.get(name)?.tarball ?? "missing";

describe.each(Object.keys(folders) as PackageName[])("%s", (name) => {
  test("contains only its code, types, sources, SQL, README and LICENSE", () => {
    const files = packed.get(name)?.files ?? [];
    for (const needed of ["package.json", "README.md", "LICENSE"]) expect(files).toContain(needed);
    expect(files.some((file) => file.startsWith("dist/") && file.endsWith(".js"))).toBe(true);
    expect(files.some((file) => file.startsWith("dist/") && file.endsWith(".d.ts"))).toBe(true);
    const others = files.filter(
      (file) => !/^(dist(?!\/example)|src|servers)\/|^(package\.json|README\.md|LICENSE)$/.test(file),
    );
    expect(others.sort()).toEqual(otherFiles[name] ?? []);
    const unwanted = /tsbuildinfo|(?<!^dist\/example\/.*)\.test\.|node_modules/;
    expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  });

  test("has types that TypeScript 5.4 accepts: bytes became generic in 5.7", async () => {
    const types = (packed.get(name)?.files ?? []).filter((file) => file.endsWith(".d.ts"));
    const texts = await Promise.all(types.map((file) => readFile(join(root, folders[name], file), "utf8")));
    expect(types.filter((_, index) => /\b(Uint8Array|Buffer)</.test(texts[index] ?? ""))).toEqual([]);
  });

  test("states the URLs of its sources, its page and its issues", async () => {
    const manifest = JSON.parse(await readFile(join(root, folders[name], "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      repository: { type: "git", url: `git+${repository}.git`, directory: folders[name] },
      homepage: `${repository}/tree/main/${folders[name]}#readme`,
      bugs: { url: `${repository}/issues` },
    });
  });

  test("has a README whose links work from any site", async () => {
    const readme = await readFile(join(root, folders[name], "README.md"), "utf8");
    const links = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");
    expect(links.filter((link) => !/^(https?:\/\/|#)/.test(link))).toEqual([]);
    const own = new RegExp(`^${repository}/(blob|tree)/main/([^#]+)`);
    for (const link of links.filter((one) => one.startsWith(repository))) {
      const [, kind, path = ""] = own.exec(link) ?? [];
      const found = await stat(join(root, path)).catch(() => undefined);
      expect(found?.isDirectory(), link).toBe(kind === "tree");
    }
    expect(readme, "a path that is not a link").not.toMatch(/`docs\/[a-z-]+\.md`/);
  });

  test("has no side effects, also when it is installed, exports with types, and peers as documented", async () => {
    const manifest = JSON.parse(await readFile(join(root, folders[name], "package.json"), "utf8"));
    expect(manifest).toMatchObject({ type: "module", sideEffects: false, license: "MIT" });
    for (const script of ["preinstall", "install", "postinstall"])
      expect(manifest.scripts ?? {}).not.toHaveProperty(script);
    for (const entry of Object.values(manifest.exports) as Record<string, string>[]) {
      // The sources are in the tarball too. Nobody else uses a condition of this name.
      expect(Object.keys(entry)).toEqual(["scrollback-source", "types", "default"]);
    }
    if (name === "@scrollback/store-core") {
      expect(Object.keys(manifest.dependencies)).toEqual(["@noble/hashes"]);
      // The SDKs' for their types alone.
      const peers = ["@anthropic-ai/sdk", "@opentelemetry/api", "openai"];
      expect(Object.keys(manifest.peerDependencies)).toEqual(peers);
      const optional = peers.map((peer) => [peer, { optional: true }]);
      expect(manifest.peerDependenciesMeta).toEqual(Object.fromEntries(optional));
    } else expect(manifest.peerDependencies).toHaveProperty("@scrollback/store-core");
  });
});

/** An empty folder with some packages installed. */
async function consumer(install: string[]): Promise<string> {
  const folder = await mkdtemp(join(temp, "consumer-"));
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ name: "consumer", private: true, type: "module" }),
  );
  await run("npm", ["install", "--no-audit", "--no-fund", ...install], { cwd: folder });
  return folder;
}

// The oldest Vitest of the suite's range, and the newest.
test.each(["vitest@5.0.0", "vitest@5"])(
  "the example of the tarball of the documents passes the suite by %s, copied into an empty folder",
  async (vitest) => {
    const folder = await consumer([
      tarball("@scrollback/store-core"),
      tarball("@scrollback/documents"),
      tarball("@scrollback/conformance"),
      ...[vitest, "mysql2@3"],
    ]);
    const example = join(folder, "node_modules/@scrollback/documents/dist/example/mariadb");
    await cp(example, folder, { recursive: true });
    const file = join(folder, "results.json");
    // Clauses with other processes, which import the harness in Node.js without Vitest, and the tests of the factory.
    const titles = "C1 Order|C2 |C3 |C5 |C23 |close ends";
    await run(
      bin("node"),
      ["node_modules/vitest/vitest.mjs", "run", "-t", titles, "--reporter=json", `--outputFile=${file}`],
      // Without these variables, the new Vitest does not behave as a worker of this one.
      {
        cwd: folder,
        env: {
          ...userEnvironment(),
          VITEST: undefined,
          VITEST_POOL_ID: undefined,
          VITEST_WORKER_ID: undefined,
        },
      },
    );
    const { numPassedTests, numFailedTests } = JSON.parse(await readFile(file, "utf8"));
    expect(numFailedTests).toBe(0);
    expect(numPassedTests).toBeGreaterThan(20);
  },
  400_000,
);

async function consume(
  install: string[],
  program: string,
  environment: Record<string, string> = {},
): Promise<string> {
  const folder = await consumer(install);
  await writeFile(join(folder, "main.js"), program);
  const env = { ...userEnvironment(), ...environment };
  const { stdout } = await run(bin("node"), ["main.js"], { cwd: folder, env });
  return stdout;
}

const tenLines = (open: string) => `
import { openStores } from "@scrollback/store-core";
const stores = await openStores(${open}, { maxMessages: 100 });
await stores.setup();
const store = stores.open("chat-1");
await store.clear();
await store.addMessages([{ role: "user", content: "Hello" }, { role: "assistant", content: "Hi!" }]);
const resumed = stores.restore(JSON.parse(JSON.stringify(await store.serialize())));
console.log((await resumed.listMessages()).map((message) => message.content).join(" "));
await stores.close();
`;

test("SQLite's tarball works in an empty folder", async () => {
  const output = await consume(
    [tarball("@scrollback/store-core"), tarball("@scrollback/store-sqlite")],
    tenLines(`"sqlite:chats.db"`),
  );
  expect(output).toBe("Hello Hi!\n");
});

test("libSQL's tarball works in an empty folder with only its client", async () => {
  const output = await consume(
    [
      ...(["@scrollback/store-core", "@scrollback/documents", "@scrollback/store-libsql"] as const).map(
        tarball,
      ),
      "@libsql/client@0.18",
    ],
    tenLines(`"libsql:chats.db"`),
  );
  expect(output).toBe("Hello Hi!\n");
});

test.each([
  ["Node.js 22.13.0", ["npx", "--yes", "--package", "node@22.13.0", "node"]],
  ["the Node.js of the tests", [bin("node")]],
] as const)("each entry point can be loaded by require on %s", async (_, [program, ...args]) => {
  const entries = (Object.keys(folders) as PackageName[]).flatMap((name) => {
    const { exports } = JSON.parse(readFileSync(join(root, folders[name], "package.json"), "utf8"));
    return Object.keys(exports).map((entry) => name + entry.slice(1));
  });
  const load = `for (const name of ${JSON.stringify(entries)})
    if (Object.keys(require(name)).length > 0) console.log(name);`;
  // In the repository, where the peers of all packages are installed.
  const { stdout } = await run(program, [...args, "--eval", load], { cwd: root, env: userEnvironment() });
  expect(stdout.trim().split("\n")).toEqual(entries);
});

test("store-core and SQLite take at most 2.5 MB, with all that they depend on", async () => {
  const folder = await consumer([tarball("@scrollback/store-core"), tarball("@scrollback/store-sqlite")]);
  const files = globSync("node_modules/**/*", { cwd: folder, withFileTypes: true }).filter((one) =>
    one.isFile(),
  );
  const sizes = await Promise.all(
    files.map(async (one) => (await stat(join(one.parentPath, one.name))).size),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeGreaterThan(500_000);
  expect(bytes).toBeLessThanOrEqual(2_500_000);
});

test("openStores names the command that installs a missing adapter, and no part of the URL", async () => {
  const output = await consume(
    [tarball("@scrollback/store-core")],
    `import { openStores } from "@scrollback/store-core";
     await openStores("redis://:hunter2@127.0.0.1").catch((error) => console.log(error.code, error.message));`,
  );
  expect(output).toBe(
    "UNSUPPORTED openStores: @scrollback/store-redis was not found; run: npm install @scrollback/store-redis ioredis\n",
  );
});

test("openStores finds an adapter of the working directory that is not installed beside it", async () => {
  const alone = await consumer([tarball("@scrollback/store-core")]);
  const project = await consumer([tarball("@scrollback/store-core"), tarball("@scrollback/store-sqlite")]);
  const program = join(alone, "main.js");
  await writeFile(program, tenLines(`"sqlite::memory:"`));
  const { stdout } = await run(bin("node"), [program], { cwd: project, env: userEnvironment() });
  expect(stdout).toBe("Hello Hi!\n");
});

test.each([
  ["redis", ["@scrollback/store-redis"], "ioredis@6", (url: string) => url],
  ["mongodb", ["@scrollback/documents", "@scrollback/store-mongo"], "mongodb@7", (url: string) => url],
  ["postgres", ["@scrollback/store-postgres"], "pg@8", (url: string) => url],
  [
    "dynamodb",
    ["@scrollback/store-dynamo"],
    "@aws-sdk/client-dynamodb@3",
    (url: string) => `dynamodb://chats?region=eu-central-1&endpoint=${url}`,
  ],
] as const)(
  "the tarball for %s works in an empty folder with only its client",
  async (name, packages, client, urlOf) => {
    const server = await sharedServer(name);
    const output = await consume(
      [tarball("@scrollback/store-core"), ...packages.map(tarball), client],
      tenLines(`"${urlOf(server.url)}"`),
      // DynamoDB's client signs its requests with these, also for a local server.
      { AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none" },
    );
    expect(output).toBe("Hello Hi!\n");
  },
  120_000,
);

test("the agents' tarball works in an empty folder with only the AI SDK, and names the package that Mem0Memory needs", async () => {
  const output = await consume(
    [tarball("@scrollback/store-core"), tarball("@scrollback/agents"), "ai@7"],
    `import { ChatAgent, Mem0Memory } from "@scrollback/agents";
     import { MockLanguageModelV4 } from "ai/test";
     const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
     const model = new MockLanguageModelV4({
       doGenerate: { content: [{ type: "text", text: "Hi!" }], finishReason: { unified: "stop" }, usage, warnings: [] },
     });
     const agent = new ChatAgent({ model });
     const thread = agent.getNewThread();
     console.log((await agent.run("Hello", { thread })).text);
     const resumed = await agent.deserializeThread(JSON.parse(JSON.stringify(await thread.serialize())));
     console.log((await resumed.messageStore.listMessages()).length);
     const memory = new Mem0Memory({ apiKey: "hunter2", userId: "u", onFailure: "throw" });
     const other = new ChatAgent({ model, contextProviders: [memory] });
     await other.run("Hello").catch((error) => console.log(error.code, error.message));
     const { AgentGroupChat } = await import("@scrollback/agents/group-chat");
     const chat = new AgentGroupChat({ agents: [agent] });
     await chat.addMessages([{ role: "user", content: "Hello" }]);
     for await (const { role, content } of chat.invoke()) console.log(role, content[0].text);`,
  );
  expect(output).toBe(
    "Hi!\n2\nUNSUPPORTED Mem0Memory: mem0ai is not installed; run: npm install mem0ai, or give a client\nassistant Hi!\n",
  );
});
