import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startServer } from "../../conformance-tests/servers/index.ts";
import { median } from "./measure.ts";
import { type ColdStart, type ColdStartRow, rounded, watchMachine } from "./results.ts";

const run = promisify(execFile);

/** JavaScript that imports, connects and stores one message. `url` and `name` are given; each start has another name. */
interface Programs {
  readonly name: ColdStartRow["name"];
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
   await stores.close();`;

const programs: readonly Programs[] = [
  {
    name: "Redis",
    client: `const { Redis } = await import("ioredis");`,
    raw: `const client = new Redis(url);
      await client.rpush(name, JSON.stringify({ role: "user", content: "Hello" }));
      client.disconnect();`,
    imports: `const { createRedisStores } = await import("@scrollback/store-redis");`,
    ours: addTo("createRedisStores({ url })"),
  },
  {
    name: "PostgreSQL",
    client: `const { Pool } = (await import("pg")).default;`,
    raw: `const pool = new Pool({ connectionString: url });
      await pool.query("INSERT INTO cold_start VALUES ($1, $2)", [name, JSON.stringify({ role: "user", content: "Hello" })]);
      await pool.end();`,
    imports: `const { createPostgresStores } = await import("@scrollback/store-postgres");`,
    ours: addTo(`createPostgresStores({ url, schema: "cold_start_scrollback", setup: false })`),
  },
  {
    name: "SQLite",
    client: `const { DatabaseSync } = await import("node:sqlite");`,
    raw: `const database = new DatabaseSync(url);
      database.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS messages (thread TEXT, text TEXT)");
      database.prepare("INSERT INTO messages VALUES (?, ?)").run(name, JSON.stringify({ role: "user", content: "Hello" }));
      database.close();`,
    imports: `const { createSqliteStores } = await import("@scrollback/store-sqlite");`,
    ours: addTo('createSqliteStores({ url: "sqlite:" + url + "-ours" })'),
  },
  {
    name: "memory",
    client: "",
    raw: "",
    imports: `const { createMemoryStores } = await import("@scrollback/store-core");`,
    ours: addTo("createMemoryStores()"),
  },
];

/** Runs a program in a process of its own. Returns the milliseconds until its marks. */
async function timesOf(program: string, url: string): Promise<number[]> {
  const name = randomUUID();
  const code = `const [url, name] = ${JSON.stringify([url, name])}; const start = performance.now(), times = [];
    const mark = () => times.push(performance.now() - start);
    ${program}
    console.log(JSON.stringify(times));`;
  const args = ["--no-warnings", "--input-type=module", "--eval", code];
  const env = { ...process.env, NODE_OPTIONS: "" };
  const { stdout } = await run(process.execPath, args, { cwd: import.meta.dirname, env });
  return JSON.parse(stdout);
}

/**
 * The median time of a process from its first import to its first stored message, of the bare client and of ours, and how much of it our
 * own imports take. The two start in turn.
 *
 * @param starts the number of processes of each.
 */
export async function measureColdStart(starts: number): Promise<ColdStart> {
  const machineUntilNow = watchMachine();
  const folder = await mkdtemp(join(tmpdir(), "scrollback-cold-start-"));
  await using redis = await startServer("redis");
  await using postgres = await startServer("postgres");
  const urls = { Redis: redis.url, PostgreSQL: postgres.url, SQLite: join(folder, "raw.db"), memory: "" };
  // As in production, the tables are there.
  const prepare = `${programs[1]?.client} ${programs[1]?.imports}
    const pool = new Pool({ connectionString: url });
    await pool.query("CREATE TABLE IF NOT EXISTS cold_start (thread TEXT, text TEXT)");
    await pool.end();
    const stores = createPostgresStores({ url, schema: "cold_start_scrollback" });
    await stores.setup();
    await stores.close();`;
  await timesOf(prepare, urls.PostgreSQL);
  const rows: ColdStartRow[] = [];
  for (const { name, client, raw, imports, ours } of programs) {
    const [bare, all, own]: number[][] = [[], [], []];
    for (let start = 0; start < starts; start++) {
      if (raw !== "") bare?.push(...(await timesOf(`${client} ${raw} mark();`, urls[name])));
      const [before = 0, after = 0, end = 0] = await timesOf(
        `${client} mark(); ${imports} mark(); ${ours} mark();`,
        urls[name],
      );
      own?.push(after - before);
      all?.push(end);
    }
    rows.push({
      name,
      ...(raw !== "" && { raw: rounded(median(bare ?? [])) }),
      ours: rounded(median(all ?? [])),
      imports: rounded(median(own ?? [])),
    });
  }
  await rm(folder, { recursive: true });
  return { machine: machineUntilNow(), rows };
}
