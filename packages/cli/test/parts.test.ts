import { readFileSync } from "node:fs";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { Folder, run } from "./run.ts";
import { withChats } from "./with-chats.ts";

const CHAT = "chats:chat:ada:c";
let folder: Folder;
let url: string;

const user = (id: string) => ({ id, role: "user" as const, content: `text of ${id}` });

beforeEach(async () => {
  folder = new Folder();
  onTestFinished(() => folder[Symbol.dispose]());
  url = folder.url();
  await using stores = folder.stores();
  await withChats(stores, async (mine) => {
    await mine.create({ id: "c", messages: [user("q")] });
    await mine.edit("c", "q", user("r"), { keepSibling: true });
  });
});

test("show names the parts of a thread", async () => {
  const { stdout } = await run(["show", url, CHAT]);
  expect(stdout).toMatch(/^has the part part:chats:chat:ada:c:[\w-]{12}$/m);
});

test.each([
  ["--prefix", "chats:chat:ada"],
  ["--ids-from", "-"],
])(
  "a copy of chats by %s has their siblings, and so has an export that is imported",
  async (...selection) => {
    const input = JSON.stringify(CHAT);
    expect((await run(["copy", url, folder.url("copy"), "--verify", ...selection], { input })).code).toBe(0);
    const file = folder.file("chats.jsonl");
    expect((await run(["export", url, "--output", file, ...selection], { input })).code).toBe(0);
    expect((await run(["import", folder.url("imported"), file])).code).toBe(0);
    for (const name of ["copy", "imported"]) {
      await using stores = folder.stores(name);
      await withChats(stores, async (mine) => {
        expect((await mine.list()).chats).toHaveLength(1);
        expect((await mine.switchTo("c", "q")).lastMessage?.text).toBe("text of q");
        await mine.deleteSibling("c", "r");
        await mine.delete("c");
      });
      expect(readFileSync(folder.file(`${name}.db`)).includes("text of")).toBe(false);
    }
  },
);

test("rm of a chat deletes its siblings", async () => {
  const { code } = await run(["rm", url, CHAT, "--yes"]);
  expect(code).toBe(0);
  expect(readFileSync(folder.file("chats.db")).includes("text of")).toBe(false);
  expect((await run(["ls", url, "--json"])).stdout).not.toContain(CHAT);
});
