import { constants } from "node:buffer";
import { truncateSync, writeFileSync } from "node:fs";
import { ChatStore } from "@scrollback/chats";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const time = 1_790_000_000_000;
const user = { role: "user", content: "x" };
const header = { type: "thread", version: 1, threadId: "a", createdAt: time, updatedAt: time };
const messageOf = (message: unknown) => ({ type: "message", createdAt: time, message });
const thread = [header, messageOf(user), messageOf(user), { type: "end", messages: 2 }];
const openAi = ["a", "b", "c"].map((threadId) => ({ threadId, messages: [user] }));
const linesOf = (values: readonly unknown[]) =>
  values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n");

/** The problems of a file that is imported. */
async function problemsOf(values: readonly unknown[], ...args: string[]): Promise<string[]> {
  using folder = new Folder();
  const file = folder.file("in.jsonl");
  writeFileSync(file, linesOf(values));
  const { code, stderr } = await run(["import", folder.url(), file, ...args]);
  expect(code).toBe(4);
  return stderr.replaceAll(file, "in").trim().split("\n").slice(0, -1);
}

test.each(["chats:chat:ada:c1", "chats:x", "sessions:session:a:b:c", "openai:s", "langgraph-store:x"])(
  "an id of a layer is refused where messages are imported: %s",
  async (threadId) => {
    const problem = expect.stringMatching(/^in:1: threadId must not begin with "[a-z-]+:"/);
    const line = { threadId, messages: [user] };
    expect(await problemsOf([line], "--format", "openai")).toEqual([problem]);
    const prefix = ["--id-prefix", threadId, "--format", "openai"];
    expect(await problemsOf([{ messages: [user] }], ...prefix, "--dry-run")).toEqual([problem]);
  },
);

test.each([
  ["a message of another role", messageOf({ role: "data", content: "" }), 'not "data"'],
  ["a line that is not JSON", "{", "not valid JSON"],
  ["a line of another type", { type: "mesage" }, "type must be"],
])("%s is one problem, as it counts as a line of its thread", async (_, line, problem) => {
  const given = [thread[0], line, ...thread.slice(2)];
  expect(await problemsOf(given)).toEqual([expect.stringContaining(problem)]);
  const missing = [thread[0], line, thread[3]];
  expect(await problemsOf(missing)).toEqual([
    expect.stringContaining(problem),
    expect.stringContaining("messages must be 1, as many as"),
  ]);
});

test.each([
  ["OpenAI's", openAi, [], "in:1: this looks like OpenAI's chat format; add --format openai"],
  [
    "the CLI's own",
    thread,
    ["--format", "openai"],
    "in:1: this looks like the format jsonl; omit --format openai",
  ],
  [
    "the CLI's own, with a prefix",
    ["", ...thread],
    ["--format", "openai", "--id-prefix", "p"],
    "in:2: this looks like the format jsonl; omit --format openai",
  ],
  [
    "a chat's",
    [{ type: "scrollback.chat", version: 1 }, {}],
    [],
    "in:1: this is the export of a chat; import it with mine.import",
  ],
])("a file of another format is one problem: %s", async (_, lines, args, problem) => {
  expect(await problemsOf(lines, ...args)).toEqual([problem]);
});

test("an OpenAI export leaves out threads without messages that it can hold", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  await using chats = new ChatStore<{ id: string; role: "user"; content: string }>({ stores });
  await chats.of("ada").create({ id: "c", messages: [{ id: "m", role: "user", content: "Hi" }] });
  await chats.of("ada").create({ id: "empty" });
  await chats.flush();
  await stores.open("sessions:app:a").commit({ metadata: { version: 1 } });
  await stores.open("sessions:leaf:x").addMessages([{ role: "user", content: "", metadata: { a: 1 } }]);
  await stores.open("plain").addMessages([{ role: "user", content: "x" }]);
  await stores.open("cleared").addMessages([{ role: "user", content: "x" }]);
  await stores.open("cleared").clear();
  const adapters = { test: () => createStores<never>(driver) };
  const { stdout, stderr, code } = await run(["export", "test:x", "--format", "openai"], { adapters });
  const byId = Object.fromEntries(jsonLines(stdout).map(({ threadId, messages }) => [threadId, messages]));
  expect(byId).toEqual({
    "chats:chat:ada:c": [{ role: "user", content: "Hi" }],
    plain: [user],
    cleared: [],
  });
  expect(stderr).toMatch(/^left out: sessions:app:a: it has no message of this format$/m);
  expect(stderr).toMatch(/^left out: sessions:leaf:x: .*, but 1 × value of a layer$/m);
  expect(code).toBe(0);
});

test("times that look like seconds are noted, and stay as they are", async () => {
  using folder = new Folder();
  const seconds = { ...header, createdAt: 1_790_000_000, updatedAt: 1_790_000_000 };
  writeFileSync(folder.file("in"), linesOf([seconds, { type: "end", messages: 0 }]));
  for (const options of [["--dry-run"], []]) {
    const { code, stderr } = await run(["import", folder.url(), folder.file("in"), ...options]);
    const note =
      "1 thread before 1980, the first on line 1: times are in milliseconds; are these in seconds?\n";
    expect({ code, stderr }).toEqual({ code: 0, stderr: note });
  }
  writeFileSync(folder.file("in"), linesOf(thread));
  expect((await run(["import", folder.url("b"), folder.file("in")])).stderr).toBe("");
});

test.each(["jsonl", "openai"])(
  "a line that no text can hold is named by its number, --format %s",
  async (format) => {
    using folder = new Folder();
    const file = folder.file("in");
    writeFileSync(file, `${linesOf(format === "jsonl" ? [header] : openAi)}\n`);
    // A sparse file.
    truncateSync(file, constants.MAX_STRING_LENGTH + 1_000);
    const { code, stderr } = await run(["import", folder.url(), file, "--format", format]);
    const line = format === "jsonl" ? 2 : 4;
    expect(code).toBe(4);
    expect(stderr).toContain(`in:${line}: longer than ${constants.MAX_STRING_LENGTH} bytes`);
  },
);
