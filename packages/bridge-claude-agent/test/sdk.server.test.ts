import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { framework } from "./framework.ts";

// Only this test installs the SDK: it has its own licence, and its programs for each platform (400 MB) are not needed.
const SDK = `@anthropic-ai/claude-agent-sdk@${framework.version}`;

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
let app = "";
let config = "";

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), "scrollback-claude-"));
  config = join(app, "claude");
  await writeFile(join(app, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const flags = ["--omit=optional", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags, SDK], { cwd: app });
  await mkdir(join(app, "node_modules/@scrollback"));
  for (const name of ["bridge-claude-agent", "collections", "store-core", "store-sqlite"])
    await symlink(join(root, "packages", name), join(app, "node_modules/@scrollback", name));
  await cp(join(root, "examples/claude-agent.ts"), join(app, "claude-agent.ts"));
}, 300_000);
afterAll(() => rm(app, { recursive: true, force: true }));

const inProcess = async (program: string, ...args: string[]) => {
  const env = { ...process.env, CLAUDE_CONFIG_DIR: config };
  const { stdout } = await run(process.execPath, [program, ...args], { cwd: app, env });
  return stdout.trim();
};

/** Writes a session in the way of the SDK's program, with a transcript of a subagent. */
async function writeSession(sessionId: string): Promise<void> {
  const project = join(config, "projects", app.replaceAll(/[^a-zA-Z0-9]/g, "-"));
  const subagents = join(project, sessionId, "subagents");
  await mkdir(subagents, { recursive: true });
  const lines = ["Which tram?", "Line 4."].map((text, index) => ({
    type: index === 0 ? "user" : "assistant",
    uuid: `00000000-0000-4000-8000-00000000000${index}`,
    parentUuid: index === 0 ? null : "00000000-0000-4000-8000-000000000000",
    ...{ sessionId, cwd: app, timestamp: "2026-01-01T00:00:00.000Z" },
    message: { role: index === 0 ? "user" : "assistant", content: [{ type: "text", text }] },
  }));
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  await writeFile(join(project, `${sessionId}.jsonl`), text);
  await writeFile(join(subagents, "agent-a1.jsonl"), text);
}

test("the SDK's types accept the store", async () => {
  const program = `
    import { foldSessionSummary, type SessionStore } from "@anthropic-ai/claude-agent-sdk";
    import { ScrollbackSessionStore } from "@scrollback/bridge-claude-agent";
    import { createMemoryStores } from "@scrollback/store-core";
    export const store: SessionStore = new ScrollbackSessionStore({ stores: createMemoryStores(), foldSessionSummary });
    // @ts-expect-error: this is no store
    export const none: SessionStore = { load: store.load };
  `;
  await writeFile(join(app, "types.ts"), program);
  const flags =
    "--noEmit --strict --target es2022 --lib es2023,esnext.disposable,dom --types node --skipLibCheck";
  const modules = "--module nodenext --moduleResolution nodenext";
  const typeRoots = ["--typeRoots", join(root, "node_modules/@types")];
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(
    process.execPath,
    [tsc, ...flags.split(" "), ...modules.split(" "), ...typeRoots, "types.ts"],
    { cwd: app },
  ).catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
});

test("a session that the SDK imports on one host is listed and read on another, once after any number of imports", async () => {
  const sessionId = crypto.randomUUID();
  await writeSession(sessionId);
  const expected = "Which tram?: user, assistant";
  expect(await inProcess("claude-agent.ts", "import", sessionId)).toBe(expected);
  expect(await inProcess("claude-agent.ts", "import", sessionId)).toBe(expected);
  await rm(config, { recursive: true });
  expect(await inProcess("claude-agent.ts", "show")).toBe(expected);
  const program = `
    import { getSubagentMessages, listSubagents } from "@anthropic-ai/claude-agent-sdk";
    import { ScrollbackSessionStore } from "@scrollback/bridge-claude-agent";
    import { openStores } from "@scrollback/store-core";
    await using stores = await openStores("sqlite:claude.db");
    await using sessionStore = new ScrollbackSessionStore({ stores });
    const options = { dir: process.cwd(), sessionStore };
    const [agent] = await listSubagents(process.argv[2], options);
    console.log(agent, (await getSubagentMessages(process.argv[2], agent, options)).length);
  `;
  await writeFile(join(app, "subagents.ts"), program);
  expect(await inProcess("subagents.ts", sessionId)).toBe("a1 2");
});
