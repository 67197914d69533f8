import { writeFileSync } from "node:fs";
import type { ChatMessage, MessageTraits } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const rich: ChatMessage = {
  role: "user",
  content: [{ type: "file", data: new Uint8Array([1, 2, 3]), mediaType: "image/png" }],
  metadata: {
    at: new Date(0),
    big: 12n,
    none: undefined,
    "~undefined": 1,
    __proto__: null,
    "a.b": Number.NaN,
  },
};

const any: MessageTraits<object> = { role: () => "user", toolCalls: () => [], toolResults: () => [] };

async function fill(folder: Folder): Promise<void> {
  await using stores = folder.stores();
  await stores
    .open("rich")
    .commit({ append: [rich], metadata: { since: new Date(5) } }, { createdAt: 7_000 });
  await stores
    .open("line\nfeed\u001b")
    .addMessages([{ role: "user", content: "\u001b \u2028 \ud83d\ude00" }]);
  await stores.open("soon", { ttlMs: 86_400_000 }).addMessages([{ role: "user", content: "x" }]);
  const long = Array.from({ length: 1_300 }, (_, index) => ({ role: "user" as const, content: `m${index}` }));
  for (let from = 0; from < long.length; from += 650) {
    await stores.open("long").addMessages(long.slice(from, from + 650), { createdAt: 8_000 + from });
  }
  await stores.open("titled").commit({ metadata: { title: "no messages" } });
  await stores
    .withTraits(any)
    .open("events")
    .addMessages([{ event: 1 }, { role: "robot", at: new Date(0) }]);
}

test("export and import preserve the threads", async () => {
  using folder = new Folder();
  await fill(folder);
  const file = folder.file("all.jsonl");
  expect(await run(["export", folder.url(), "--output", file])).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("threads: 6 exported; 1,305 messages"),
  });
  const imported = await run(["import", folder.url("b"), file, "--verify"]);
  expect(imported).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/6 imported; 1,305 messages.*\n.*6 equal/),
  });
  expect((await run(["copy", folder.url(), folder.url("b"), "--verify"])).code).toBe(0);
  await using stores = folder.stores("b");
  expect(await stores.open("rich").listMessages()).toEqual([rich]);
  const { expiresAt = 0 } = await stores.open("soon").read();
  expect(Math.abs(expiresAt - Date.now() - 86_400_000)).toBeLessThan(60_000);
});

test("messages of the OpenAI and Anthropic SDKs are exported and imported, and trimmed as theirs afterwards", async () => {
  using folder = new Folder();
  const threads: Record<string, object[]> = {
    chat: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "Which tram?" },
      { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function" }] },
      { role: "tool", tool_call_id: "1", content: "4" },
    ],
    items: [
      { role: "user", content: "Which tram?" },
      { type: "function_call", call_id: "1", name: "t", arguments: "{}" },
      { type: "function_call_output", call_id: "1", output: "4" },
    ],
    blocks: [
      { role: "user", content: "Which tram?" },
      { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "4" }] },
    ],
  };
  {
    await using stores = folder.stores();
    const ofAny = stores.withTraits(any);
    for (const [id, messages] of Object.entries(threads)) await ofAny.open(id).addMessages(messages);
  }
  const file = folder.file("all.jsonl");
  expect(await run(["export", folder.url(), "--output", file])).toMatchObject({ code: 0 });
  expect(await run(["import", folder.url("b"), file, "--verify"])).toMatchObject({ code: 0 });
  await using imported = folder.stores("b");
  const ofAny = imported.withTraits(any);
  for (const [id, messages] of Object.entries(threads)) {
    const store = ofAny.open(id, { maxMessages: 2 });
    expect(await ofAny.open(id).listMessages()).toEqual(messages);
    // The kinds of the stored messages decide: the result does not stay without its call.
    await store.addMessages([{ role: "user", content: "Thanks" }]);
    expect(await store.listMessages()).not.toContainEqual(messages.at(-1));
    expect((await ofAny.open(id).listMessages()).at(-1)).toEqual({ role: "user", content: "Thanks" });
  }
});

test("an import continues where it was stopped, also within a thread", async () => {
  using folder = new Folder();
  await fill(folder);
  const file = folder.file("all.jsonl");
  await run(["export", folder.url(), "--output", file]);
  let stops = 0;
  for (let delay = 1; ; delay += 6) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), delay);
    const { code } = await run(["import", folder.url("b"), file], { signal: controller.signal });
    clearTimeout(timer);
    if (code === 0) break;
    stops += 1;
  }
  expect(stops).toBeGreaterThan(0);
  expect((await run(["import", folder.url("b"), file, "--verify"])).stdout).toMatch(
    /6 there already|5 there already, 1 imported|1 imported, 5 there already/,
  );
});

test("import --verify does not compare a thread that has expired since the export", async () => {
  using folder = new Folder();
  const file = folder.file("expired.jsonl");
  const thread = (threadId: string, expiry: object) => [
    { type: "thread", version: 1, threadId, createdAt: 1e12, updatedAt: 1e12, ...expiry },
    { type: "message", createdAt: 1, message: { role: "user", content: "x" } },
    { type: "end", messages: 1 },
  ];
  const lines = [...thread("gone", { expiresAt: 2 }), ...thread("there", {})];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const { code, stdout, stderr } = await run(["import", folder.url(), file, "--verify"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(
    /^threads: (?=.*1 expired)(?=.*1 imported).*\nthreads: (?=.*1 expired)(?=.*1 equal)/,
  );
});

test("standard output has only the lines", async () => {
  using folder = new Folder();
  await fill(folder);
  const { stdout } = await run(["export", folder.url(), "--prefix", "rich"]);
  const lines = jsonLines(stdout);
  expect(lines.map(({ type }) => type)).toEqual(["thread", "message", "end"]);
  expect(lines[0]).toMatchObject({ version: 1, threadId: "rich", createdAt: 7_000, updatedAt: 7_000 });
  expect(lines[1]).toMatchObject({ createdAt: 7_000, encodedMessage: expect.stringMatching(/^~/) });
  expect(lines[2]).toEqual({ type: "end", messages: 1 });
});
