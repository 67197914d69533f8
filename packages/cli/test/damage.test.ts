import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const KEY = "(SELECT key FROM scrollback_threads WHERE id = 'b')";

/** Three threads, of which "b" is damaged. */
async function fill(folder: Folder, sql: string): Promise<void> {
  const stores = folder.stores();
  for (const id of ["a", "b", "c"]) {
    await stores.open(id).commit({ append: [{ role: "user", content: "secret" }], metadata: "title" });
    await stores.open(id).addMessages([{ role: "user", content: "secret" }]);
  }
  await stores.close();
  const database = new DatabaseSync(folder.file("chats.db"));
  database.exec(sql);
  database.close();
}

/** Damage, and whether listings see the thread, of which its metadata may be damaged. */
const damages: Record<string, readonly [sql: string, isListed: boolean]> = {
  "its commits are gone": [`DELETE FROM scrollback_commits WHERE thread = ${KEY}`, false],
  "a number is impossible": [`UPDATE scrollback_commits SET first = 9 WHERE thread = ${KEY}`, false],
  "its metadata is damaged": [`UPDATE scrollback_metadata SET text = '{' WHERE thread = ${KEY}`, true],
  "a message is gone": [`DELETE FROM scrollback_messages WHERE thread = ${KEY} AND sequence = 1`, true],
};

for (const [what, [sql, isListed]] of Object.entries(damages)) {
  test(`verify names a thread if ${what}, and rm deletes it and the others`, async () => {
    for (const selection of [["--all"], ["b", "a", "c"]]) {
      using folder = new Folder();
      await fill(folder, sql);
      const verified = await run(["verify", folder.url(), "--json"]);
      expect(verified.code).toBe(4);
      const lines = jsonLines(verified.stdout);
      expect(lines).toContainEqual({ threadId: "a", outcome: "readable", messages: 2 });
      expect(lines).toContainEqual({ threadId: "c", outcome: "readable", messages: 2 });
      const [found] = lines.filter(({ threadId }) => threadId === "b");
      expect(found).toMatchObject({ outcome: "corrupt", problems: [expect.any(String)] });
      expect(JSON.stringify(found)).not.toMatch(/integrity_check|not a Scrollback record/);

      const dry = await run(["rm", folder.url(), ...selection, "--dry-run"]);
      expect(dry.stdout.split("\n").sort()).toEqual(["", "a", "b", "c"]);
      const removed = await run(["rm", folder.url(), ...selection, "--yes"]);
      expect(removed.stdout).toContain("3 deleted");
      expect(removed.code).toBe(0);
      if (!isListed) expect(removed.stderr).toMatch(/^deleted: b: it was damaged: /m);
      if (what.includes("metadata")) expect(removed.stderr).toContain("1 record could not be read");
      const database = new DatabaseSync(folder.file("chats.db"));
      for (const table of ["threads", "commits", "messages", "metadata"])
        expect(database.prepare(`SELECT 1 FROM scrollback_${table}`).all(), table).toEqual([]);
      database.close();
    }
  });
}

test("a named thread that is damaged does not stop a command for the others", async () => {
  using folder = new Folder();
  await fill(folder, damages["its commits are gone"]?.[0] ?? "");
  const args = ["copy", folder.url(), folder.url("copy"), "--ids-from", "-"];
  const copied = await run(args, { input: `"b"\n"a"\n` });
  expect(copied).toMatchObject({ code: 4, stdout: expect.stringContaining("1 copied") });
});

const heads: Record<string, string> = {
  "chats:chat:ada:c": "its head (the metadata) is gone",
  "chats:chat:ada:d": "its head (the metadata) is not what its layer has written",
  "sessions:session:a:b:c": "its head (the metadata) is gone",
  "sessions:user:a:b": "its head (the metadata) is gone",
  "sessions:app:a": "its head (the metadata) is not what its layer has written",
};

test("verify names threads of chats and sessions whose head is gone, or is no head", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const append = [{ role: "user" as const, content: "x" }];
  for (const id of ["plain", "chats:chat:ada:c", "sessions:session:a:b:c", "sessions:user:a:b"])
    await stores.open(id).commit({ append });
  await stores.open("chats:chat:ada:d").commit({ append, metadata: { version: 1 } });
  const listed = { key: "e", order: 1, in: { "chats:open:ada": "id" } };
  await stores.open("chats:chat:ada:e").commit({ append, metadata: { version: 1, listed } });
  const value = { threadId: "chats:chat:ada:e", listed };
  await stores.index("chats:open:ada").insert({ key: "e", id: "id" }, { version: 1, order: 1, value });
  await stores.open("sessions:user:a:c").commit({ metadata: { version: 2 } });
  await stores.open("sessions:app:a").commit({ metadata: ["mine"] });
  const { code, stdout } = await run(["verify", folder.url(), "--json"]);
  const found = jsonLines(stdout).filter(({ problems }) => problems !== undefined);
  expect(Object.fromEntries(found.map(({ threadId, problems }) => [threadId, String(problems)]))).toEqual(
    Object.fromEntries(Object.entries(heads).map(([id, problem]) => [id, expect.stringContaining(problem)])),
  );
  expect(code).toBe(4);
});
