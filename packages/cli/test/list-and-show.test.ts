import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const DAY = 86_400_000;

/** Three threads of different ages and lengths. */
async function fill(folder: Folder): Promise<void> {
  await using stores = folder.stores();
  const old = { createdAt: Date.now() - 40 * DAY };
  await stores.open("user-1").addMessages([{ role: "user", content: "old" }], old);
  const messages = Array.from({ length: 45 }, (_, index) => ({
    role: "user" as const,
    content: `m${index}`,
  }));
  await stores.open("user-2").addMessages(messages);
  await stores.open("admin", { ttlMs: DAY }).commit({
    append: [{ role: "system", content: "Hello" }],
    metadata: { title: "T", since: new Date(0) },
  });
}

test.each([
  [[], ["admin", "user-1", "user-2"]],
  [
    ["--prefix", "user-"],
    ["user-1", "user-2"],
  ],
])("ls lists the selected threads: %j", async (args, ids) => {
  using folder = new Folder();
  await fill(folder);
  const { code, stdout, stderr } = await run(["ls", folder.url(), "--json", ...args]);
  const listed = jsonLines(stdout).map(({ threadId }) => threadId);
  expect({ code, stderr, ids: listed.sort() }).toEqual({ code: 0, stderr: "", ids });
});

test("ls of no threads says so, unless its output is JSON", async () => {
  using folder = new Folder();
  await run(["setup", folder.url()]);
  expect(await run(["ls", folder.url()])).toEqual({ code: 0, stdout: "", stderr: "no threads\n" });
  await fill(folder);
  const none = ["ls", folder.url(), "--prefix", "x"];
  expect(await run(none)).toEqual({ code: 0, stdout: "", stderr: "no threads\n" });
  expect(await run([...none, "--json"])).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("ls --json prints a thread as the API returns it", async () => {
  using folder = new Folder();
  await fill(folder);
  const { stdout } = await run(["ls", folder.url(), "--json", "--prefix", "admin"]);
  const [thread] = jsonLines(stdout);
  expect(Object.keys(thread ?? {})).toEqual([
    "threadId",
    "count",
    "createdAt",
    "updatedAt",
    "expiresAt",
    "bytes",
    "encodedMetadata",
  ]);
  expect(thread).toMatchObject({
    threadId: "admin",
    count: 1,
    encodedMetadata: expect.stringMatching(/^~.*"T"/),
  });
});

test("ls shows a table, thread ids last", async () => {
  using folder = new Folder();
  await fill(folder);
  const { stdout } = await run(["ls", folder.url(), "--prefix", "user-2"]);
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
  expect(stdout).toMatch(
    new RegExp(
      `^ +MESSAGES +SIZE +CREATED +UPDATED +EXPIRES +THREAD\n +45 +\\d\\S*B +${time} +${time} +never +user-2\n$`,
    ),
  );
});

test("ls lists at most the given number of threads", async () => {
  using folder = new Folder();
  await fill(folder);
  expect(jsonLines((await run(["ls", folder.url(), "--json", "--limit", "2"])).stdout)).toHaveLength(2);
});

test("ls reads ids from a file as it writes them, and names missing ones", async () => {
  using folder = new Folder();
  await fill(folder);
  const input = `{"threadId":"user-1"}\n"none\\u001b"\n\n"admin"\n`;
  const { code, stdout, stderr } = await run(["ls", folder.url(), "--json", "--ids-from", "-"], { input });
  expect(jsonLines(stdout).map(({ threadId }) => threadId)).toEqual(["user-1", "admin"]);
  expect({ code, stderr }).toEqual({ code: 3, stderr: "not found: $'none\\x1b'\n" });
  const marked = await run(["ls", folder.url(), "--json", "--ids-from", "-"], { input: `\uFEFF${input}` });
  expect(marked).toEqual({ code, stdout, stderr });
  const invalid = await run(["ls", folder.url(), "--ids-from", "-"], { input: `"admin"\n7\n` });
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
  expect(contents).toEqual(Array.from({ length: 45 }, (_, index) => `m${index}`));
});

test("show --json prints a page with cursors", async () => {
  using folder = new Folder();
  await fill(folder);
  const { stdout } = await run(["show", folder.url(), "user-2", "--limit", "1", "--json"]);
  expect(JSON.parse(stdout)).toEqual({
    threadId: "user-2",
    count: 45,
    createdAt: expect.any(Number),
    updatedAt: expect.any(Number),
    revision: expect.any(String),
    older: expect.any(String),
    newer: expect.any(String),
    messages: [{ sequence: 45, createdAt: expect.any(Number), message: { role: "user", content: "m44" } }],
  });
});

test("show prints a readable transcript", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  const createdAt = Date.UTC(2026, 10, 22);
  await stores.open("chat").commit(
    {
      append: [
        { role: "user", content: "Two\nlines", authorName: "ada" },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm" },
            { type: "tool-call", toolCallId: "c", toolName: "tram", input: { to: "harbour" } },
          ],
        },
        {
          role: "tool",
          content: [{ type: "tool-result", toolCallId: "c", toolName: "tram", output: 4, isError: true }],
        },
        {
          role: "user",
          content: [{ type: "file", data: "aGk=", mediaType: "image/png", filename: "a.png" }],
        },
      ],
      metadata: { title: "T" },
    },
    { createdAt },
  );
  const { stdout } = await run(["show", folder.url(), "chat"]);
  expect(stdout).toBe(`chat
4 messages, created 2026-11-22T00:00:00Z, updated 2026-11-22T00:00:00Z
metadata: {"title":"T"}

user (ada) #1 2026-11-22T00:00:00Z
  Two
  lines

assistant #2 2026-11-22T00:00:00Z
  [reasoning] hm
  [calls tram] {"to":"harbour"} (c)

tool #3 2026-11-22T00:00:00Z
  [result of tram, an error] 4 (c)

user #4 2026-11-22T00:00:00Z
  [file a.png image/png]
`);
});

test("messages of other types are shown as values", async () => {
  using folder = new Folder();
  await using stores = folder.stores().withTraits<{ event: string }>({
    role: () => "user",
    toolCalls: () => [],
    toolResults: () => [],
  });
  await stores.open("events").addMessages([{ event: "begin\u001b[31m" }]);
  const { code, stdout } = await run(["show", folder.url(), "events"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^message #1 .*\n {2}\{"event":"begin\\u001b\[31m"\}$/m);
});

test("a missing thread has its exit code", async () => {
  using folder = new Folder();
  await run(["setup", folder.url()]);
  expect(await run(["show", folder.url(), "none"])).toEqual({
    code: 3,
    stdout: "",
    stderr: "not found: none\n",
  });
});

test("hostile ids and messages are shown escaped", async () => {
  using folder = new Folder();
  const id = "\u001b]0;owned\u0007\n\u202e";
  await using stores = folder.stores();
  const message = { role: "user" as const, content: "\u001b[2Jgone\u009b1m\ttab", authorName: "e\u001bve" };
  await stores.open(id).commit({ append: [message], metadata: { title: "\u001b[5m" } });
  const all = await Promise.all([
    run(["ls", folder.url()]),
    run(["ls", folder.url(), "--json"]),
    run(["show", folder.url(), id]),
    run(["show", folder.url(), id, "--json"]),
    run(["export", folder.url()]),
    run(["rm", folder.url(), id, "--dry-run"]),
    run(["show", folder.url(), `${id}x`]),
  ]);
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
  for (const command of ["ls", "show", "export", "verify", "copy"]) {
    const rest = command === "show" ? ["chat-1"] : command === "copy" ? [folder.url("target")] : [];
    const { code, stderr } = await run([command, folder.url(), ...rest]);
    expect([command, code !== 0, /run setup/.test(stderr)]).toEqual([command, true, true]);
    expect(readFileSync(path)).toEqual(before);
  }
  expect((await run(["setup", folder.url()])).code).toBe(0);
  expect((await run(["ls", folder.url()])).code).toBe(0);
});
