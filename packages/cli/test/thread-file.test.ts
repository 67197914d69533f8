import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const head = {
  type: "thread",
  version: 1,
  threadId: "a",
  createdAt: 1_790_000_000_000,
  updatedAt: 1_790_000_000_000,
};
const first = { ...head, metadata: { title: "A" } };
const message = (content: unknown) => ({
  type: "message",
  createdAt: 1_000,
  message: { role: "user", content },
});
const lines: readonly unknown[] = [first, message("Hello"), message("Hi"), { type: "end", messages: 2 }];

/** Imports lines: values, or texts as they are. */
async function importOf(given: readonly unknown[], ...args: string[]) {
  using folder = new Folder();
  const file = folder.file("in.jsonl");
  const text = given.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  writeFileSync(file, text);
  const { code, stderr } = await run(["import", folder.url(), file, ...args]);
  const threads = jsonLines((await run(["ls", folder.url(), "--json"])).stdout).length;
  return { code, threads, problem: stderr.replace(`scrollback: ${file}`, "in").trim() };
}

const replaced = (index: number, line: unknown) => lines.map((one, at) => (at === index ? line : one));
const time = "must be a time in milliseconds since 1970, an integer from 0 to 9999999999999";

test("valid lines are imported, also after a byte order mark and with empty lines", async () => {
  expect(await importOf(lines)).toEqual({ code: 0, threads: 1, problem: "" });
  const marked = [`\uFEFF${JSON.stringify(first)}`, "", ...lines.slice(1)];
  expect(await importOf(marked)).toEqual({ code: 0, threads: 1, problem: "" });
});

test.each([
  [replaced(1, "{"), "in:2: not a JSON object"],
  [replaced(1, "[]"), "in:2: not a JSON object"],
  [[...lines, `\uFEFF${JSON.stringify(first)}`], "in:5: not a JSON object"],
  [replaced(0, lines[1]), `in:1: type must be "thread", where no thread has begun`],
  [
    replaced(0, { ...head, version: 2 }),
    "in:1: version must be 1; was it written by a newer version of the CLI?",
  ],
  [replaced(0, { ...head, threadId: "" }), "in:1: threadId must be a non-empty string"],
  [replaced(0, { ...head, createdAt: -1 }), `in:1: createdAt ${time}`],
  [replaced(0, { ...head, updatedAt: 0.5 }), `in:1: updatedAt ${time}`],
  [replaced(0, { ...head, expiresAt: 1e300 }), `in:1: expiresAt ${time}`],
  [
    replaced(0, { ...head, expiresAt: 9999999999999 }),
    "in:1: expiresAt must be at most 36,500 days from now",
  ],
  [replaced(0, { ...head, encodedMetadata: "~{" }), "in:1: metadata was not written by export"],
  [replaced(0, { ...head, metadata: null }), "in:1: metadata must not be null; leave it out"],
  [
    replaced(0, { ...head, metadata: { "scrollback.copy": 1 } }),
    `in:1: metadata must not have the key "scrollback.copy", which an unfinished copy has`,
  ],
  [replaced(1, { type: "message", createdAt: 1 }), "in:2: message is missing"],
  [replaced(1, { type: "message", createdAt: "now", message: {} }), `in:2: createdAt ${time}`],
  [replaced(1, { type: "message", createdAt: 1, message: 7 }), "in:2: message must be an object"],
  [
    replaced(2, { type: "message", createdAt: 1, message: { role: "robot", content: "" } }),
    `in:3: message.role must be "system", "user", "assistant" or "tool"`,
  ],
  [
    replaced(2, { type: "image" }),
    `in:3: type must be "file", "message", "end" or "skip", as the thread of line 1 has not ended`,
  ],
  [
    replaced(3, { type: "end", messages: 3 }),
    "in:4: messages must be 2, as many as the thread of line 1 has: lines are missing or were added",
  ],
  [lines.slice(0, 3), "in:1: the file ends before this thread does"],
  [[...lines, ...lines], "in:5: threadId is that of line 1, too"],
])("the first wrong line is named, and nothing is imported: %#", async (given, problem) => {
  const wrong = { code: 4, threads: 0, problem: `${problem}; nothing was imported` };
  expect(await importOf(given)).toEqual(wrong);
});

const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

test.each([
  [replaced(1, message("x".repeat(17 * 1024 ** 2))), /^in:6: message 178\d+ bytes/],
  [replaced(1, JSON.stringify(message("")).replace(`""`, `"","metadata":${deep}`)), /^in:6: message /],
  [replaced(0, { ...head, metadata: "x".repeat(300_000) }), /^in:5: metadata 30\d+ bytes/],
])(
  "what the target cannot hold is named before anything is imported, also by --dry-run: %#",
  async (given, problem) => {
    const all = [{ ...head, threadId: "before" }, ...lines.slice(1), ...given];
    for (const options of [[], ["--dry-run"]]) {
      const wrong = { code: 4, threads: 0, problem: expect.stringMatching(problem) };
      expect(await importOf(all, ...options)).toEqual(wrong);
    }
  },
);

test("a text that is not UTF-8 is named, not taken for another one", async () => {
  using folder = new Folder();
  await run(["setup", folder.url()]);
  const file = folder.file("in");
  writeFileSync(file, Buffer.from(`${JSON.stringify(head)}\n"caf\u00e9"\n`, "latin1"));
  const wrong = { code: 4, stderr: expect.stringContaining("in:2: not valid UTF-8\n") };
  expect(await run(["import", folder.url(), file])).toMatchObject(wrong);
  expect(await run(["rm", folder.url(), "--ids-from", file, "--yes"])).toMatchObject(wrong);
});

test("a thread that was skipped is not imported", async () => {
  const skipped = [...lines.slice(0, 2), { type: "skip" }, { ...head, threadId: "b" }, ...lines.slice(1)];
  expect(await importOf(skipped)).toEqual({ code: 0, threads: 1, problem: "" });
});

test("a file is read from standard input, and checked without being imported", async () => {
  using folder = new Folder();
  const input = lines.map((line) => JSON.stringify(line)).join("\n");
  const checked = await run(["import", folder.url(), "-", "--dry-run"], { input });
  expect(checked).toMatchObject({ code: 0, stdout: "1 thread, 2 messages: all lines are right\n" });
  expect((await run(["ls", folder.url(), "--json"])).stdout).toBe("");
  expect((await run(["import", folder.url(), "-"], { input })).code).toBe(0);
  const { stdout } = await run(["show", folder.url(), "a", "--json"]);
  const { createdAt, updatedAt, metadata } = first;
  expect(JSON.parse(stdout)).toMatchObject({ count: 2, createdAt, updatedAt, metadata });
});
