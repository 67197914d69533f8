import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const program = join(root, "examples/langgraph-postgres.ts");

/** A connection to a server that ends with the test. */
async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test("a LangGraph agent on PostgreSQL runs turns, travels in time, waits, and erases a person, each time that it is run", async () => {
  const server = new URL((await sharedServer("postgres")).url);
  const database = `test_${randomUUID().replaceAll("-", "")}`;
  await (await connected(server.href)).query(`CREATE DATABASE ${database}`);
  server.pathname = database;
  const env = { ...process.env, DATABASE_URL: server.href };
  const sql = await connected(server.href);
  for (let round = 1; round <= 2; round++) {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], { env });
    expect(stderr).toBe("");
    const first = "Find a tram | Done: Find a tram";
    expect(stdout.trim().split("\n")).toEqual([
      `${first} | Find a hotel | Done: Find a hotel`,
      `${first} | Find a boat | Done: Find a boat`,
      "Buy a ticket?",
      `${first} | Find a boat | Done: Find a boat | Buy a ticket | Done: Buy a ticket`,
      expect.stringMatching(/^\d+ checkpoints dropped$/),
      "ada: 0 messages, 0 items",
      `bob: ${2 * round} messages, 1 items`,
    ]);
    // In the tables too: the ids, texts and entries of one person are gone, those of the other are there.
    for (const table of ["threads", "messages", "entries"]) {
      const { rows } = await sql.query(`SELECT t::text AS row FROM scrollback.${table} AS t`);
      const text = rows.map(({ row }) => row).join("\n");
      expect(text).not.toMatch(/\bada\b|hotel|boat|ticket/);
      if (table !== "messages") expect(text).toContain("bob");
    }
  }
});

test("the page begins with the beginning of the program", async () => {
  const page = await readFile(join(root, "docs/how-to/bridge-langgraph.md"), "utf8");
  const [, block] = /^```ts[^\n]*\n(.*?)^```/ms.exec(page) ?? [];
  expect(block).toContain("graph.invoke");
  expect((await readFile(program, "utf8")).startsWith(`${block}\n`)).toBe(true);
});
