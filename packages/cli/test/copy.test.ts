import { randomBytes } from "node:crypto";
import type { ChatMessage } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const text = (content: string) => ({ role: "user" as const, content });

async function fill(folder: Folder, count: number, name = "chats"): Promise<void> {
  await using stores = folder.stores(name);
  for (let index = 0; index < count; index++) {
    const metadata = { index, at: new Date(index) };
    await stores
      .open(`chat-${index}`)
      .commit({ append: [text(`m${index}`)], metadata }, { createdAt: 1_000 + index });
  }
}

async function contentOf(folder: Folder, name: string, threadId: string) {
  await using stores = folder.stores(name);
  const { entries, count, createdAt, updatedAt, metadata } = await stores.open(threadId).read();
  return { entries, count, createdAt, updatedAt, metadata };
}

test("copy copies messages, times and metadata, once", async () => {
  using folder = new Folder();
  await fill(folder, 5);
  const args = ["copy", folder.url(), folder.url("b"), "--json"];
  const first = jsonLines((await run(args)).stdout);
  expect(first.slice(0, 5)).toEqual(
    expect.arrayContaining([{ threadId: "chat-3", outcome: "copied", messages: 1 }]),
  );
  expect(first.at(-1)).toEqual({
    summary: { selected: 5, done: 5, messages: 5, outcomes: { copied: 5 }, seconds: expect.any(Number) },
  });
  expect(await contentOf(folder, "b", "chat-3")).toEqual(await contentOf(folder, "chats", "chat-3"));
  const again = jsonLines((await run(args)).stdout);
  expect(again.at(-1)).toMatchObject({ summary: { messages: 0, outcomes: { "there already": 5 } } });
});

test("a copy, and an import of an export, are trimmed like the original", async () => {
  const step: ChatMessage[] = [
    { role: "assistant", content: [{ type: "reasoning", text: "hm" }] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "t", input: 1 }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "t", output: 1 }] },
  ];
  const summary = { role: "assistant" as const, content: "So far", metadata: { type: "scrollback.summary" } };
  using folder = new Folder();
  await using stores = folder.stores();
  await stores.open("chat").addMessages([summary, text("q"), ...step, { role: "assistant", content: "a" }]);
  await run(["copy", folder.url(), folder.url("b")]);
  const file = folder.file("all.jsonl");
  await run(["export", folder.url(), "--output", file]);
  await run(["import", folder.url("c"), file]);
  const kept = async (name: string, maxMessages: number) => {
    await using target = folder.stores(name);
    return (await target.open("chat", { maxMessages }).listMessages()).length;
  };
  for (const name of ["chats", "b", "c"])
    expect([name, await kept(name, 5), await kept(name, 4), await kept(name, 1)]).toEqual([name, 5, 2, 1]);
});

test("copy skips a target thread with other content, copies the rest, and --verify names the difference", async () => {
  using folder = new Folder();
  await fill(folder, 3);
  await using target = folder.stores("b");
  await target.open("chat-1").addMessages([text("other")]);
  const { code, stdout, stderr } = await run(["copy", folder.url(), folder.url("b"), "--verify"]);
  expect(code).toBe(4);
  expect(stdout).toMatch(/2 copied, 1 conflict|1 conflict, 2 copied|1 copied, 1 conflict/);
  expect(stderr).toBe(
    "conflict: chat-1: copyThread: the target has content that this copy did not write\n" +
      "different: chat-1: source and target do not hold the same\n",
  );
  expect(await target.open("chat-1").listMessages()).toEqual([text("other")]);
  expect((await run(["copy", folder.url(), folder.url("b")])).code).toBe(5);
});

test.each([
  ["text", { append: [text("other")], drop: "all" as const }],
  ["number of messages", { append: [text("more")] }],
  ["metadata", { metadata: "other" }],
])("copy names a thread that was changed in its %s alone after it was copied", async (_, change) => {
  using folder = new Folder();
  await fill(folder, 1);
  await run(["copy", folder.url(), folder.url("b")]);
  await using target = folder.stores("b");
  const { updatedAt = 0 } = await target.open("chat-0").read();
  await target.open("chat-0").commit(change, { createdAt: updatedAt });
  expect(await run(["copy", folder.url(), folder.url("b")])).toMatchObject({
    code: 5,
    stdout: expect.stringContaining("1 changed since"),
    stderr: "changed since: chat-0: source or target was written to after the copy, which is left as it is\n",
  });
});

test("copy names a source that was changed during the copy, and what to do with the unfinished one", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  await stores.open("long").addMessages(Array.from({ length: 1_200 }, (_, index) => text(`${index}`)));
  await using target = folder.stores("b");
  const onProgress = () => {
    throw new Error("stopped");
  };
  await expect(stores.copyThread("long", "long", { target, onProgress })).rejects.toThrow("stopped");
  await stores.open("long").clear();
  const { code, stderr } = await run(["copy", folder.url(), folder.url("b")]);
  expect({ code, stderr }).toEqual({
    code: 5,
    stderr:
      "conflict: long: the source thread was cleared, trimmed or changed meanwhile; the target has an unfinished copy: " +
      "delete it, then copy again\n",
  });
  await target.deleteThread("long");
  expect((await run(["copy", folder.url(), folder.url("b"), "--verify"])).code).toBe(0);
});

test("copy keeps the expiry, and copies no thread that has expired", async () => {
  using folder = new Folder();
  const ttlMs = 86_400_000;
  await using stores = folder.stores();
  await stores.open("soon", { ttlMs }).addMessages([text("x")]);
  await run(["copy", folder.url(), folder.url("b")]);
  await using target = folder.stores("b");
  const { expiresAt = 0 } = await target.open("soon").read();
  expect(Math.abs(expiresAt - Date.now() - ttlMs)).toBeLessThan(60_000);
});

test("copy decrypts and encrypts as the environment specifies, and shows no key", async () => {
  using folder = new Folder();
  const [one, two] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
  await fill(folder, 2);
  const target = { SCROLLBACK_TARGET_CODEC: "aes-gcm+gzip", SCROLLBACK_TARGET_KEYS: `one:${one}` };
  const encrypted = await run(["copy", folder.url(), folder.url("b"), "--verify"], { env: target });
  expect(encrypted.code).toBe(0);
  const unread = await run(["copy", folder.url("b"), folder.url("c")]);
  expect(unread).toMatchObject({ code: 4, stderr: expect.stringContaining("corrupt: chat-1") });
  const env = { SCROLLBACK_CODEC: "aes-gcm+gzip", SCROLLBACK_KEYS: `two:${two},one:${one}` };
  const shown = await run(["show", folder.url("b"), "chat-1"], { env });
  expect(shown.stdout).toContain("  m1\n");
  for (const { stdout, stderr } of [encrypted, unread, shown]) {
    expect(stdout + stderr).not.toContain(one);
    expect(stdout + stderr).not.toContain(two);
  }
});
