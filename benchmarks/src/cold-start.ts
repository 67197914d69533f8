import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { startServer } from "../../conformance-tests/servers/index.ts";
import { installRuntimes, programOf } from "../../scripts/runtimes.ts";
import { median } from "./measure.ts";
import { type ColdStart, type ColdStartRow, rounded, watchMachine } from "./results.ts";

const run = promisify(execFile);
const packages = join(import.meta.dirname, "../../packages");

/** JavaScript that imports, connects, stores one message and calls `mark`. `url` and `name` are given; each start has another name. */
interface Programs {
  readonly name: ColdStartRow["name"];
  /** The package of ours, in whose folder the programs run: there, both find the same copy of the client. */
  readonly folder: string;
  /** The imports of the client. */
  readonly client: string;
  /** What the bare client does with them. */
  readonly raw: string;
  /** The imports of ours, and what ours does. */
  readonly imports: string;
  readonly ours: string;
}

const addTo = (create: string) =>
  `const stores = ${create};
   await stores.open(name).addMessages([{ role: "user", content: "Hello" }]);
   mark();
   await stores.close();`;

const programs: readonly Programs[] = [
  {
    name: "Redis",
    folder: "store-redis",
    client: `const { Redis } = await import("ioredis");`,
    raw: `const client = new Redis(url);
      await client.rpush(name, JSON.stringify({ role: "user", content: "Hello" }));
      mark();
      client.disconnect();`,
    imports: `const { createRedisStores } = await import("@scrollback/store-redis");`,
    ours: addTo("createRedisStores({ url })"),
  },
  {
    name: "PostgreSQL",
    folder: "store-postgres",
    client: `const { Pool } = (await import("pg")).default;`,
    raw: `const pool = new Pool({ connectionString: url });
      await pool.query("INSERT INTO cold_start VALUES ($1, $2)", [name, JSON.stringify({ role: "user", content: "Hello" })]);
      mark();
      await pool.end();`,
    imports: `const { createPostgresStores } = await import("@scrollback/store-postgres");`,
    ours: addTo(`createPostgresStores({ url, schema: "cold_start_scrollback", setup: false })`),
  },
  {
    name: "SQLite",
    folder: "store-sqlite",
    client: `const { DatabaseSync } = await import("node:sqlite");`,
    raw: `const database = new DatabaseSync(url);
      database.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS messages (thread TEXT, text TEXT)");
      database.prepare("INSERT INTO messages VALUES (?, ?)").run(name, JSON.stringify({ role: "user", content: "Hello" }));
      mark();
      database.close();`,
    imports: `const { createSqliteStores } = await import("@scrollback/store-sqlite");`,
    ours: addTo('createSqliteStores({ url: "sqlite:" + url + "-ours" })'),
  },
  {
    name: "memory",
    folder: "store-core",
    client: "",
    raw: "",
    imports: `const { createMemoryStores } = await import("@scrollback/store-core");`,
    ours: addTo("createMemoryStores()"),
  },
];

/** Runs a program in a process of its own. Returns the milliseconds until its marks. */
async function timesOf(runtime: Runtime, program: string, url: string, folder: string): Promise<number[]> {
  const name = randomUUID();
  const code = `const [url, name] = ${JSON.stringify([url, name])}; const start = performance.now(), times = [];
    const mark = () => times.push(performance.now() - start);
    ${program}
    console.log(JSON.stringify(times));`;
  const env = { ...process.env, NODE_OPTIONS: "" };
  const { stdout } = await run(runtime.program, [...runtime.args, code], {
    cwd: join(packages, folder),
    env,
  });
  return JSON.parse(stdout);
}

interface Runtime {
  readonly name: ColdStartRow["runtime"];
  readonly program: string;
  /** The code follows them. */
  readonly args: readonly string[];
}

const onNode: Runtime = {
  name: "Node",
  program: process.execPath,
  args: ["--no-warnings", "--input-type=module", "--eval"],
};

/**
 * The median time of a process from its first import to its first stored message, of the bare client and of ours, and how much of it our
 * own imports take. The two start in turn.
 *
 * @param starts the number of processes of each.
 */
export async function measureColdStart(starts: number): Promise<ColdStart> {
  const machineUntilNow = watchMachine();
  const data = await mkdtemp(join(tmpdir(), "scrollback-cold-start-"));
  await installRuntimes(data, ["bun"]);
  const onBun: Runtime = { name: "Bun", program: await programOf(data, "bun"), args: ["--eval"] };
  await using redis = await startServer("redis");
  await using postgres = await startServer("postgres");
  const urlOf = (name: Programs["name"], runtime: Runtime) =>
    ({
      Redis: redis.url,
      PostgreSQL: postgres.url,
      SQLite: join(data, `${runtime.name}.db`),
      memory: "",
    })[name];
  // As in production, the tables are there.
  const prepare = `${programs[1]?.client} ${programs[1]?.imports}
    const pool = new Pool({ connectionString: url });
    await pool.query("CREATE TABLE IF NOT EXISTS cold_start (thread TEXT, text TEXT)");
    await pool.end();
    const stores = createPostgresStores({ url, schema: "cold_start_scrollback" });
    await stores.setup();
    await stores.close();`;
  await timesOf(onNode, prepare, postgres.url, "store-postgres");
  const rows: ColdStartRow[] = [];
  for (const runtime of [onNode, onBun])
    for (const { name, folder, client, raw, imports, ours } of programs) {
      const [bare, all, own]: number[][] = [[], [], []];
      const times = (program: string) => timesOf(runtime, program, urlOf(name, runtime), folder);
      for (let start = 0; start < starts; start++) {
        if (raw !== "") bare?.push(...(await times(`${client} ${raw}`)));
        const [before = 0, after = 0, end = 0] = await times(`${client} mark(); ${imports} mark(); ${ours}`);
        own?.push(after - before);
        all?.push(end);
      }
      rows.push({
        runtime: runtime.name,
        name,
        ...(raw !== "" && { raw: rounded(median(bare ?? [])) }),
        ours: rounded(median(all ?? [])),
        imports: rounded(median(own ?? [])),
      });
    }
  rows.push(await inWorkerd(starts));
  await rm(data, { recursive: true });
  return { machine: machineUntilNow(), rows };
}

const EMPTY_WORKER = `export default { fetch: async () => new Response("stored") };`;

/** A Worker with our modules that replies after `work`. */
async function bundleWith(work: string): Promise<string> {
  const contents = `import { createMemoryStores } from "@scrollback/store-core";
  export default {
    async fetch() {
      ${work}
      return new Response(typeof createMemoryStores);
    },
  };`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(packages, "store-core") },
    ...({ bundle: true, write: false, format: "esm", conditions: ["workerd"] } as const),
  });
  return outputFiles[0]?.text ?? "";
}

/**
 * A Worker without our modules, one with them, and one that stores a message in memory: from the start of workerd to the first reply,
 * because a Worker's clock stands still while it computes.
 */
async function inWorkerd(starts: number): Promise<ColdStartRow> {
  const store = `await createMemoryStores().open("a").addMessages([{ role: "user", content: "Hello" }]);`;
  const scripts = { raw: EMPTY_WORKER, modules: await bundleWith(""), ours: await bundleWith(store) };
  const times = { raw: [] as number[], modules: [] as number[], ours: [] as number[] };
  for (let start = 0; start < starts; start++)
    for (const which of ["raw", "modules", "ours"] as const) {
      const began = performance.now();
      const worker = new Miniflare({
        modules: true,
        script: scripts[which],
        compatibilityDate: "2026-07-30",
      });
      await (await worker.dispatchFetch("http://worker/")).text();
      times[which].push(performance.now() - began);
      await worker.dispose();
    }
  const raw = median(times.raw);
  return {
    runtime: "workerd",
    name: "memory",
    raw: rounded(raw),
    ours: rounded(median(times.ours)),
    imports: rounded(median(times.modules) - raw),
  };
}
