import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const problem = "run the copy or import that was stopped again, or delete the thread";
const note = `unfinished copy: long: ${problem}\n`;

/** An incomplete copy, with only the first messages, beside a complete thread. */
async function fill(folder: Folder): Promise<void> {
  await using stores = folder.stores("whole");
  await using target = folder.stores();
  const messages = Array.from({ length: 1_200 }, (_, index) => ({
    role: "user" as const,
    content: `${index}`,
  }));
  await stores.open("long").addMessages(messages);
  const onProgress = () => {
    throw new Error("stopped");
  };
  await expect(stores.copyThread("long", "long", { target, onProgress })).rejects.toThrow("stopped");
  await target.open("short").addMessages(messages.slice(0, 1));
}

test("ls and verify report an unfinished copy", async () => {
  using folder = new Folder();
  await fill(folder);
  expect(await run(["ls", folder.url()])).toMatchObject({ code: 0, stderr: note });
  const verified = await run(["verify", folder.url()]);
  expect(verified).toMatchObject({ code: 4, stderr: note });
  expect(verified.stdout).toMatch(/1 unfinished copy/);
  const lines = jsonLines((await run(["verify", folder.url(), "--json"])).stdout);
  expect(lines).toContainEqual({
    threadId: "long",
    outcome: "unfinished copy",
    messages: 500,
    problems: [problem],
  });
});

test("export skips it", async () => {
  using folder = new Folder();
  await fill(folder);
  const file = folder.file("out");
  const exported = await run(["export", folder.url(), "--output", file]);
  expect(exported).toMatchObject({ code: 4, stderr: expect.stringContaining(note) });
  expect(readFileSync(file, "utf8")).not.toContain("long");
  expect((await run(["import", folder.url("b"), file, "--verify"])).code).toBe(0);
});

test("copy names it and does not change it, and import refuses it", async () => {
  using folder = new Folder();
  await fill(folder);
  expect(await run(["copy", folder.url(), folder.url("b")])).toMatchObject({ code: 4, stderr: note });
  const file = folder.file("old");
  const metadata = { "scrollback.copy": { version: 1, copy: "c", after: "a", copied: 1, commits: 1 } };
  const lines = [
    { type: "thread", version: 1, threadId: "long", createdAt: 1, updatedAt: 1, metadata },
    { type: "message", createdAt: 1, message: { role: "user", content: "x" } },
    { type: "end", messages: 1 },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(await run(["import", folder.url("c"), file])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(":1: metadata must not have the key"),
  });
  expect(existsSync(folder.file("c.db"))).toBe(false);
  expect((await run(["copy", folder.url("whole"), folder.url(), "--verify"])).code).toBe(0);
  expect(await run(["verify", folder.url()])).toMatchObject({ code: 0, stderr: "" });
});

test.each(["chats:chat:ada:c", "sessions:session:app:ada:s"])(
  "verify reports an unfinished copy of %s as such",
  async (threadId) => {
    using folder = new Folder();
    {
      await using stores = folder.stores();
      const metadata = { "scrollback.copy": { version: 1, copy: "c", after: "a", copied: 1, commits: 1 } };
      await stores.open(threadId).commit({ append: [{ role: "user", content: "" }], metadata });
    }
    const verified = await run(["verify", folder.url()]);
    expect(verified).toMatchObject({ code: 4, stderr: `unfinished copy: ${threadId}: ${problem}\n` });
  },
);
