import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const lines = [
  `{"type":"thread","version":1,"threadId":"a","createdAt":1790000000000,"updatedAt":1790000000000,"metadata":{"title":"A"}}`,
  `{"type":"message","createdAt":1000,"message":{"role":"user","content":"Hello"}}`,
  `{"type":"message","createdAt":2000,"message":{"role":"assistant","content":"Hi"}}`,
  `{"type":"end","messages":2}`,
];

/** Imports lines and returns the error. */
async function problemsOf(given: readonly string[], ...args: string[]) {
  using folder = new Folder();
  const file = folder.file("in.jsonl");
  writeFileSync(file, given.join("\n"));
  const { code, stderr } = await run(["import", folder.url(), file, ...args]);
  const listed = await run(["ls", folder.url(), "--json"]);
  return {
    code,
    problem: stderr
      .replaceAll(file, "in")
      .trim()
      .replace("scrollback: ", "")
      .replace("; nothing was imported", ""),
    threads: jsonLines(listed.stdout).length,
  };
}

function replaced(index: number, line: string): string[] {
  return lines.map((one, at) => (at === index ? line : one));
}

test("valid lines are imported", async () => {
  expect(await problemsOf(lines)).toEqual({ code: 0, problem: "", threads: 1 });
});

test("a byte order mark at the begin of a file is skipped", async () => {
  expect(await problemsOf([`\uFEFF${lines[0]}`, ...lines.slice(1)])).toMatchObject({ code: 0, threads: 1 });
  expect((await problemsOf([...lines, `\uFEFF${lines[0]}`])).problem).toBe("in:5: not a JSON object");
});

test.each([
  [replaced(1, "{"), "in:2: not a JSON object"],
  [replaced(1, "[]"), "in:2: not a JSON object"],
  [replaced(0, lines[1] ?? ""), `in:1: type must be "thread", where no thread has begun`],
  [
    replaced(0, `{"type":"thread","version":2}`),
    "in:1: version must be 1; was it written by a newer version of the CLI?",
  ],
  [replaced(0, `{"type":"thread","version":1,"threadId":""}`), "in:1: threadId must be a non-empty string"],
  [
    replaced(0, `{"type":"thread","version":1,"threadId":"a","createdAt":-1,"updatedAt":1}`),
    "in:1: createdAt must be a time in milliseconds since 1970, an integer from 0 to 9999999999999",
  ],
  [
    replaced(
      0,
      `{"type":"thread","version":1,"threadId":"a","createdAt":1,"updatedAt":1,"encodedMetadata":"~{"}`,
    ),
    "in:1: metadata was not written by export",
  ],
  ...[`"metadata":null`, `"encodedMetadata":"null"`].map((metadata): [string[], string] => [
    replaced(0, (lines[0] ?? "").replace(/"metadata":\{.*?\}/, metadata)),
    "in:1: metadata must not be null; leave it out",
  ]),
  [
    replaced(0, (lines[0] ?? "").replace(`"title"`, `"scrollback.copy"`)),
    `in:1: metadata must not have the key "scrollback.copy", which an unfinished copy has`,
  ],
  [replaced(1, `{"type":"message","createdAt":1}`), "in:2: message is missing"],
  [
    replaced(1, `{"type":"message","createdAt":"now","message":{}}`),
    "in:2: createdAt must be a time in milliseconds since 1970, an integer from 0 to 9999999999999",
  ],
  [replaced(1, `{"type":"message","createdAt":1,"message":7}`), "in:2: message must be an object"],
  [
    replaced(2, `{"type":"message","createdAt":1,"message":{"role":"robot","content":""}}`),
    `in:3: message.role must be "system", "user", "assistant" or "tool"`,
  ],
  [
    replaced(2, `{"type":"image"}`),
    `in:3: type must be "message", "end" or "skip", as the thread of line 1 has not ended`,
  ],
  [
    replaced(3, `{"type":"end","messages":3}`),
    "in:4: messages must be 2, as many as the thread of line 1 has: lines are missing or were added",
  ],
  ...["1e300", "0.5", "-1", "1e13", "null"].map((time): [string[], string] => [
    replaced(1, `{"type":"message","createdAt":${time},"message":{"role":"user","content":""}}`),
    "in:2: createdAt must be a time in milliseconds since 1970, an integer from 0 to 9999999999999",
  ]),
  ...["createdAt", "updatedAt", "expiresAt"].flatMap((name) =>
    ["1e300", "0.5"].map((time): [string[], string] => [
      replaced(
        0,
        `{"type":"thread","version":1,"threadId":"a","createdAt":1,"updatedAt":1,${JSON.stringify(name)}:${time}}`,
      ),
      `in:1: ${name} must be a time in milliseconds since 1970, an integer from 0 to 9999999999999`,
    ]),
  ),
  [
    replaced(
      0,
      `{"type":"thread","version":1,"threadId":"a","createdAt":1,"updatedAt":1,"expiresAt":9999999999999}`,
    ),
    "in:1: expiresAt must be at most 36,500 days from now",
  ],
  [lines.slice(0, 3), "in:1: the file ends before this thread does"],
  [[...lines, ...lines], "in:5: threadId is that of line 1, too"],
])("an invalid line is named, and nothing is imported: %#", async (given, problem) => {
  expect(await problemsOf(given)).toEqual({ code: 4, problem, threads: 0 });
});

const latin1 = Buffer.from("caf\u00e9", "latin1");

test("a line that is not UTF-8 is named", async () => {
  using folder = new Folder();
  const [before, after] = [`${lines[0]}\n{"type":"message","createdAt":1,"message":"`, `"}\n${lines[3]}`];
  writeFileSync(folder.file("in"), Buffer.concat([Buffer.from(before), latin1, Buffer.from(after)]));
  const { code, stderr } = await run(["import", folder.url(), folder.file("in")]);
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining("in:2: not valid UTF-8\n") });
});

test("an id that is not UTF-8 is named, not taken for another one", async () => {
  using folder = new Folder();
  await run(["setup", folder.url()]);
  writeFileSync(folder.file("ids"), Buffer.concat([Buffer.from(`"a"\n"`), latin1, Buffer.from(`"\n`)]));
  const args = ["rm", folder.url(), "--ids-from", folder.file("ids"), "--yes"];
  expect(await run(args)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("ids:2: not valid UTF-8\n"),
  });
});

const large = "x".repeat(17 * 1024 ** 2);
const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

test.each([
  [
    "a message that is too large",
    replaced(1, (lines[1] ?? "").replace("Hello", large)),
    /in:2: message 178\d+ bytes/,
  ],
  [
    "a message that is too deep",
    replaced(1, (lines[1] ?? "").replace(`"Hello"`, `"","metadata":${deep}`)),
    /in:2: message /,
  ],
  [
    "metadata that is too large",
    replaced(0, (lines[0] ?? "").replace(`"A"`, `"${"x".repeat(300_000)}"`)),
    /in:1: metadata 30\d+ bytes/,
  ],
])("%s is named before anything is imported, also by --dry-run", async (_, given, problem) => {
  const before = lines.map((line) => line.replace(`"threadId":"a"`, `"threadId":"first"`));
  for (const options of [[], ["--dry-run"]]) {
    const shifted = new RegExp(problem.source.replace(/\d/, (line) => String(Number(line) + 4)));
    const found = await problemsOf([...before, ...given], ...options);
    expect(found).toEqual({ code: 4, problem: expect.stringMatching(shifted), threads: 0 });
  }
});

test("a thread that was skipped is not imported", async () => {
  const skipped = [...lines.slice(0, 2), `{"type":"skip"}`];
  expect(await problemsOf([...skipped, ...lines])).toMatchObject({ code: 4 });
  const other = lines.map((line) => line.replace(`"threadId":"a"`, `"threadId":"b"`));
  expect(await problemsOf([...skipped, ...other])).toMatchObject({ code: 0, threads: 1 });
});

test("a file is checked without being imported", async () => {
  using folder = new Folder();
  writeFileSync(folder.file("in"), lines.join("\n"));
  const checked = await run(["import", folder.url(), folder.file("in"), "--dry-run"]);
  expect(checked).toMatchObject({ code: 0, stdout: "1 thread, 2 messages: all lines are right\n" });
  expect((await run(["ls", folder.url(), "--json"])).stdout).toBe("");
});

test("a file is read from standard input", async () => {
  using folder = new Folder();
  const { code } = await run(["import", folder.url(), "-"], { input: lines.join("\n") });
  expect(code).toBe(0);
  const { stdout } = await run(["show", folder.url(), "a", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    count: 2,
    createdAt: 1_790_000_000_000,
    updatedAt: 1_790_000_000_000,
    metadata: { title: "A" },
  });
});

test("a missing file is a usage error", async () => {
  using folder = new Folder();
  const { code, stderr } = await run(["import", folder.url(), folder.file("none")]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/^scrollback: .+: the file cannot be read \(ENOENT\)\n$/),
  });
});
