import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type RunningServer, sharedServer, startServer } from "@scrollback/conformance/servers";
import { openStores, type StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "./project.ts";
import { type CliResult, jsonLines } from "./run.ts";

const THREADS = 120;
const password = "hunter2-of-the-server";
const hostileIds = [
  "\u001b]0;owned\u0007",
  "a:b{c}*?[",
  "line\nfeed",
  "\u202edi",
  " ",
  "-x",
  "--all",
  "%_\\",
  "chat-1/",
  "用户",
  "$ne",
];
const key = Buffer.alloc(32, 7).toString("base64");
const environment = { AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none" };

/** The URL of each backend, in which this file's threads are the only ones. */
const backends = {
  sqlite: async (folder: string) => `sqlite:${join(folder, "chats.db")}`,
  // Servers of this file's own, because the CLI lists all threads that have the default names of keys and tables.
  redis: async () => (await start("redis", { password })).url,
  postgres: async () => (await start("postgres", { password })).url,
  mongodb: async () => {
    const { url } = await sharedServer("mongodb");
    return Object.assign(new URL(url), { pathname: `/cli-${randomUUID()}` }).href;
  },
  dynamodb: async () => dynamoUrl((await sharedServer("dynamodb")).url),
};
export type BackendName = keyof typeof backends;

const dynamoUrl = (endpoint: string) =>
  `dynamodb://chats-${randomUUID()}?${new URLSearchParams({ region: "eu-central-1", endpoint })}`;

/** URLs at which no server is. */
const unreachable: Partial<Record<BackendName, string>> = {
  redis: `redis://:${password}@127.0.0.1:1`,
  mongodb: "mongodb://127.0.0.1:1/",
  postgres: `postgres://postgres:${password}@127.0.0.1:1/postgres`,
  dynamodb: dynamoUrl("http://127.0.0.1:1"),
};

const running: RunningServer[] = [];
async function start(...args: Parameters<typeof startServer>): Promise<RunningServer> {
  const server = await startServer(...args);
  running.push(server);
  return server;
}

/** A folder in which the CLI runs. */
interface Shell extends AsyncDisposable {
  readonly path: string;
  /** Set before the first run. */
  readonly env: Record<string, string>;
  readonly output: string;
  start(args: readonly string[]): Running;
  run(args: readonly string[], env?: Record<string, string>): Promise<CliResult>;
}

/**
 * Declares tests of the CLI on real servers.
 *
 * @param names backends in the order of the copies: from each to the next, and from the last back to the first.
 */
export function declareBackendTests(names: readonly BackendName[], create: () => Promise<Shell>): void {
  const urls = new Map<BackendName, string>();
  let project: Shell;
  const variableOf = (name: BackendName) => `${name.toUpperCase()}_URL`;
  /** The argument that refers to a backend's URL, which is in the environment. */
  const argumentOf = (name: BackendName) => `env:${variableOf(name)}`;
  const open = async (name: BackendName): Promise<StoreFactory> => openStores(urls.get(name) ?? "");
  const sqlite = names[0] ?? "sqlite";

  beforeAll(async () => {
    Object.assign(process.env, environment);
    project = await create();
    for (const name of names) urls.set(name, await backends[name](project.path));
    for (const [name, url] of urls) project.env[variableOf(name)] = url;
    Object.assign(project.env, environment);
    await using stores = await open(sqlite);
    await stores.setup();
    for (let index = 0; index < THREADS; index++) {
      const createdAt = 1_700_000_000_000 + index;
      const append = [
        { role: "user" as const, content: `m${index} \u0000\ud83d\ude00`, metadata: { at: new Date(index) } },
        { role: "assistant" as const, content: "x".repeat(index * 50) },
      ];
      await stores.open(`chat-${index}`).commit({ append, metadata: { index } }, { createdAt });
    }
    for (const id of hostileIds) await stores.open(id).addMessages([{ role: "user", content: id }]);
    await stores.open("empty").commit({ metadata: { title: "no messages" } });
    for (let batch = 0; batch < 3; batch++) {
      const messages = Array.from({ length: 500 }, (_, index) => ({
        role: "user" as const,
        content: `${batch}-${index}`,
      }));
      await stores.open("long").addMessages(messages);
    }
  }, 600_000);
  afterAll(async () => {
    await project?.[Symbol.asyncDispose]();
    for (const server of running) await server.stop();
  });

  const total = THREADS + hostileIds.length + 2;

  describe.each(names.slice(1).map((name, index) => ({ name, from: names[index] ?? sqlite })))(
    "$name",
    ({ name, from }) => {
      test(`copies from ${from}, continues after a kill, and has the same content`, async () => {
        const args = ["copy", argumentOf(from), argumentOf(name)];
        const killed = project.start([...args, "--json"]);
        await killed.until(async () => killed.stdout.split("\n").length > total / 3);
        killed.kill("SIGKILL");
        expect((await killed.result()).code).toBe(137);
        const { code, stdout } = await project.run([...args, "--verify"]);
        expect(code).toBe(0);
        expect(stdout).toMatch(/^threads: .*there already/);
        expect(stdout).toContain(`threads: ${total} equal`);
      });

      test("lists, shows and verifies", async () => {
        const url = argumentOf(name);
        const listed = jsonLines((await project.run(["ls", url, "--json"])).stdout);
        expect(listed).toHaveLength(total);
        for (const id of hostileIds) expect(listed.map(({ threadId }) => threadId)).toContain(id);
        const one = await project.run(["ls", url, "--json", "--prefix", "chat-1"]);
        expect(jsonLines(one.stdout)).toHaveLength(32);
        const shown = await project.run(["show", url, "long", "--limit", "1"]);
        expect(shown.stdout).toMatch(/^ {2}2-499$/m);
        const hostile = await project.run(["show", url, "--", "-x"]);
        expect(hostile).toMatchObject({ code: 0, stdout: expect.stringContaining("  -x\n") });
        expect(await project.run(["verify", url])).toMatchObject({
          code: 0,
          stdout: expect.stringContaining(`${total} readable`),
        });
        expect((await project.run(["show", url, "none"])).code).toBe(3);
      });

      test("exports and imports, encrypted at rest", async () => {
        const url = argumentOf(name);
        const file = join(project.path, `${name}.jsonl`);
        const selected = ["--prefix", "chat-2"];
        expect((await project.run(["export", url, ...selected, "--output", file])).code).toBe(0);
        await project.run(["rm", url, ...selected, "--yes"]);
        expect((await project.run(["ls", url, ...selected])).stdout).toBe("");
        const codec = { SCROLLBACK_CODEC: "aes-gcm", SCROLLBACK_KEYS: `k:${key}` };
        expect(await project.run(["import", url, file, "--verify"], codec)).toMatchObject({ code: 0 });
        expect((await project.run(["verify", url, ...selected])).code).toBe(4);
        expect((await project.run(["verify", url, ...selected], codec)).code).toBe(0);
        await project.run(["rm", url, ...selected, "--yes"], codec);
        const again = await project.run(["import", url, file, "--verify"]);
        expect(again).toMatchObject({ code: 0 });
      });

      test("deletes", async () => {
        const url = argumentOf(name);
        await using stores = await open(name);
        for (const id of ["gone-1", "gone-2"])
          await stores.open(id).addMessages([{ role: "user", content: id }]);
        expect(await project.run(["rm", url, "--prefix", "gone-", "--yes"])).toMatchObject({ code: 0 });
        expect((await stores.open("gone-1").read()).revision).toBeNull();
      });
    },
  );

  test("threads copied through all backends are unchanged", async () => {
    const back = await project.run([
      "copy",
      argumentOf(names.at(-1) ?? sqlite),
      argumentOf(sqlite),
      "--verify",
    ]);
    expect(back).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^threads: ${total} there already`)),
    });
  });

  test("an unreachable server has its exit code, and no secret is shown", async () => {
    const gone = names.flatMap((name) => unreachable[name] ?? []);
    expect(gone).toHaveLength(names.length - 1);
    for (const { code, stdout, stderr } of await Promise.all(gone.map((url) => project.run(["ls", url])))) {
      expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
      expect(stderr).toMatch(/^scrollback: UNAVAILABLE: /);
    }
    expect(project.output.length).toBeGreaterThan(1_000);
    for (const secret of [password, key]) expect(project.output).not.toContain(secret);
  });
}
