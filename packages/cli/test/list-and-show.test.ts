import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ role: "user" as const, content: `m${index}` }));

async function fill(folder: Folder): Promise<void> {
  await using stores = folder.stores();
  await stores.open("user-1").addMessages(numbered(1));
  await stores.open("user-2").addMessages(numbered(45));
  await stores.open("admin", { ttlMs: 86_400_000 }).commit({
    append: [{ role: "system", content: "Hello" }],
    metadata: { title: "T", since: new Date(0) },
  });
}

test("ls --json prints threads as the API returns them", async () => {
  using folder = new Folder();
  await run(["setup", folder.url()]);
  expect(await run(["ls", folder.url()])).toEqual({ code: 0, stdout: "", stderr: "no threads\n" });
  await fill(folder);
  const ls = async (...args: string[]) =>
    jsonLines((await run(["ls", folder.url(), "--json", ...args])).stdout);
  expect((await ls()).map(({ threadId }) => threadId).sort()).toEqual(["admin", "user-1", "user-2"]);
  expect(await ls("--prefix", "user-")).toHaveLength(2);
  expect(await ls("--limit", "2")).toHaveLength(2);
  const times = {
    createdAt: expect.any(Number),
    updatedAt: expect.any(Number),
    expiresAt: expect.any(Number),
  };
  const encodedMetadata = expect.stringMatching(/^~.*"T"/);
  const thread = { threadId: "admin", count: 1, ...times, bytes: expect.any(Number), encodedMetadata };
  expect(await ls("--prefix", "admin")).toEqual([thread]);
});

test("ls shows a table, thread ids last", async () => {
  using folder = new Folder();
  await fill(folder);
  const { stdout } = await run(["ls", folder.url(), "--prefix", "user-2"]);
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
  const row = `^ +MESSAGES +SIZE +CREATED +UPDATED +EXPIRES +THREAD\n +45 +\\d\\S*B +${time} +${time} +never +user-2\n$`;
  expect(stdout).toMatch(new RegExp(row));
});

test("ls reads ids from a file as it writes them, and names missing ones", async () => {
  using folder = new Folder();
  await fill(folder);
  const ls = (input: string) => run(["ls", folder.url(), "--json", "--ids-from", "-"], { input });
  const { code, stdout, stderr } = await ls(`\uFEFF{"threadId":"user-1"}\n"none\\u001b"\n\n"admin"\n"admin"`);
  expect(jsonLines(stdout).map(({ threadId }) => threadId)).toEqual(["user-1", "admin"]);
  expect({ code, stderr }).toEqual({ code: 3, stderr: "not found: $'none\\x1b'\n" });
  const invalid = await ls(`"admin"\n7\n`);
  expect(invalid).toMatchObject({ code: 4, stderr: expect.stringContaining("-:2: not a JSON string") });
});

test("show pages from the newest messages to the oldest", async () => {
  using folder = new Folder();
  await fill(folder);
  const contents: string[] = [];
  let before: string[] = [];
  for (let page = 0; page < 3; page++) {
    const { stdout, stderr } = await run(["show", folder.url(), "user-2", ...before]);
    contents.unshift(...[...stdout.matchAll(/^ {2}(m\d+)$/gm)].map(([, content = ""]) => content));
    const [, cursor] = /older messages: add --before (\S+)/.exec(stderr) ?? [];
    expect(cursor === undefined).toBe(page === 2);
    before = ["--before", cursor ?? ""];
  }
  expect(contents).toEqual(numbered(45).map(({ content }) => content));
  const { stdout } = await run(["show", folder.url(), "user-2", "--limit", "1", "--json"]);
  const text = expect.any(String);
  expect(JSON.parse(stdout)).toEqual({
    ...{ threadId: "user-2", count: 45, revision: text, older: text, newer: text },
    ...{ createdAt: expect.any(Number), updatedAt: expect.any(Number) },
    messages: [{ sequence: 45, createdAt: expect.any(Number), message: { role: "user", content: "m44" } }],
  });
  const missing = { code: 3, stdout: "", stderr: "not found: none\n" };
  expect(await run(["show", folder.url(), "none"])).toEqual(missing);
});

test("show prints a readable transcript, and messages of other types as values", async () => {
  using folder = new Folder();
  const any = { role: () => "user" as const, toolCalls: () => [], toolResults: () => [] };
  await using stores = folder.stores().withTraits<object>(any);
  const call = { toolCallId: "c", toolName: "tram" };
  const append = [
    { role: "user", content: "Two\nlines", authorName: "ada" },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "tool-call", ...call, input: { to: "harbour" } },
      ],
    },
    { role: "tool", content: [{ type: "tool-result", ...call, output: 4, isError: true }] },
    { role: "user", content: [{ type: "file", data: "aGk=", mediaType: "image/png", filename: "a.png" }] },
    { event: "begin\u001b[31m" },
  ];
  await stores
    .open("chat")
    .commit({ append, metadata: { title: "T" } }, { createdAt: Date.UTC(2026, 10, 22) });
  const { stdout } = await run(["show", folder.url(), "chat"]);
  expect(stdout.replaceAll("2026-11-22T00:00:00Z", "…")).toBe(`chat
5 messages, created …, updated …
metadata: {"title":"T"}

user (ada) #1 …
  Two
  lines

assistant #2 …
  [reasoning] hm
  [calls tram] {"to":"harbour"} (c)

tool #3 …
  [result of tram, an error] 4 (c)

user #4 …
  [file a.png image/png]

message #5 …
  {"event":"begin\\u001b[31m"}
`);
});

test("hostile ids and messages are shown escaped", async () => {
  using folder = new Folder();
  const id = "\u001b]0;owned\u0007\n\u202e";
  await using stores = folder.stores();
  const message = { role: "user" as const, content: "\u001b[2Jgone\u009b1m\ttab", authorName: "e\u001bve" };
  await stores.open(id).commit({ append: [message], metadata: { title: "\u001b[5m" } });
  const commands = [
    ["ls"],
    ["ls", "--json"],
    ["show", id],
    ["show", id, "--json"],
    ["export"],
    ["rm", id, "--dry-run"],
  ];
  const all = await Promise.all(
    [...commands, ["show", `${id}x`]].map(([name = "", ...args]) => run([name, folder.url(), ...args])),
  );
  for (const { stdout, stderr } of all) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not be shown
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  }
  expect(all[0]?.stdout).toContain(String.raw`$'\x1b]0;owned\x07\x0a\xe2\x80\xae'`);
  expect(all[2]?.stdout).toContain("  \\x1b[2Jgone\\u009b1m\ttab");
});

test("commands that read make no tables: the database of another program stays as it is", async () => {
  using folder = new Folder();
  const path = folder.file("chats.db");
  const other = new DatabaseSync(path);
  other.exec("CREATE TABLE notes (text TEXT)");
  other.close();
  const before = readFileSync(path);
  for (const [name = "", ...args] of [
    ["ls"],
    ["show", "a"],
    ["export"],
    ["verify"],
    ["copy", folder.url("b")],
  ]) {
    const { code, stderr } = await run([name, folder.url(), ...args]);
    expect([name, code !== 0, /run setup/.test(stderr)]).toEqual([name, true, true]);
    expect(readFileSync(path)).toEqual(before);
  }
  expect((await run(["setup", folder.url()])).code).toBe(0);
  expect((await run(["ls", folder.url()])).code).toBe(0);
});
