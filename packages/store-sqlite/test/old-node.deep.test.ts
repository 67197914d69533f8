import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Imports a package in a Node.js of that version, which has no node:sqlite. */
async function importOn(version: string, name: string): Promise<string> {
  const claim = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`;
  const program = `await import("${name}").then(() => console.log("imported"), (error) => console.log(error.message));`;
  const flags = ["--no-experimental-sqlite", "--input-type=module", "--eval", claim + program];
  const { stdout } = await run(process.execPath, flags, { cwd: import.meta.dirname });
  return stdout.trim();
}

test.each(["20.20.2", "22.5.0", "22.12.0"])(
  "C13 on Node %s an import reports in one sentence what is missing",
  async (version) => {
    for (const name of ["@scrollback/store-core", "@scrollback/store-sqlite"]) {
      expect(await importOn(version, name)).toBe(
        `Scrollback needs Node.js 22.13 or later; this is Node.js ${version}`,
      );
    }
  },
);

test("C13 without SQLite in Node a url reports it, and a client of better-sqlite3 works", async () => {
  expect(await importOn("22.13.0", "@scrollback/store-core")).toBe("imported");
  const program = `
    import Database from "better-sqlite3";
    import { createSqliteStores } from "@scrollback/store-sqlite";
    try {
      createSqliteStores({ url: "sqlite::memory:" });
    } catch (error) {
      console.log(error.code, error.message);
    }
    const store = createSqliteStores({ client: new Database(":memory:") }).open("a");
    await store.addMessages([{ role: "user", content: "Hello" }]);
    console.log((await store.listMessages()).length);`;
  const flags = ["--no-experimental-sqlite", "--input-type=module", "--eval", program];
  const { stdout } = await run(process.execPath, flags, { cwd: import.meta.dirname });
  const [refused, count] = stdout.trim().split("\n");
  expect(refused).toMatch(/^UNSUPPORTED createSqliteStores: url needs node:sqlite, /);
  expect(count).toBe("1");
});
