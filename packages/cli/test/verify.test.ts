import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const text = (content: string) => ({ role: "user" as const, content });
const compressible = text("tram ".repeat(50));

/** Three threads: one has an unreadable record in the middle, another has unreadable metadata. */
async function fill(folder: Folder): Promise<void> {
  await using stores = folder.stores();
  await using others = folder.stores("chats", { codec: gzipCodec() });
  await stores.open("good").addMessages([text("a")]);
  for (const factory of [stores, others, stores]) await factory.open("bad").addMessages([compressible]);
  await others.open("worse").commit({ append: [text("b")], metadata: { title: compressible.content } });
}

test("verify names each unreadable record with its sequence number", async () => {
  using folder = new Folder();
  await fill(folder);
  const { code, stdout, stderr } = await run(["verify", folder.url()]);
  expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringMatching(/^threads: .*1 readable/) });
  expect(stderr).toMatch(/^corrupt: bad: message 2 of thread "bad" cannot be read: /m);
  expect(stderr).toMatch(/^corrupt: worse: the metadata of thread "worse" cannot be read: /m);
  const lines = jsonLines((await run(["verify", folder.url(), "--json"])).stdout);
  expect(lines).toContainEqual({ threadId: "good", outcome: "readable", messages: 1 });
  const problems = [expect.stringContaining("message 2")];
  expect(lines).toContainEqual({ threadId: "bad", outcome: "corrupt", messages: 2, problems });
  expect((await run(["verify", folder.url()], { env: { SCROLLBACK_CODEC: "gzip" } })).code).toBe(0);
});

test("ls, copy and export tell such threads, and take their readable records if they are told to", async () => {
  using folder = new Folder();
  await fill(folder);
  const listed = await run(["ls", folder.url(), "--json"]);
  expect(jsonLines(listed.stdout)).toHaveLength(3);
  const unread = expect.stringContaining("1 record could not be read while listing");
  expect(listed).toMatchObject({ code: 4, stderr: unread });
  const strict = await run(["copy", folder.url(), folder.url("b")]);
  expect(strict).toMatchObject({ code: 4, stderr: expect.stringMatching(/^corrupt: bad: /m) });
  expect(jsonLines((await run(["ls", folder.url("b"), "--json"])).stdout)).toHaveLength(1);
  const lax = await run(["copy", folder.url(), folder.url("b"), "--skip-corrupt"]);
  expect(lax).toMatchObject({ code: 4, stdout: expect.stringContaining("2 copied in part") });
  await using stores = folder.stores("b");
  expect(await stores.open("bad").listMessages()).toHaveLength(2);
  const exported = await run(["export", folder.url(), "--skip-corrupt"]);
  expect(exported).toMatchObject({ code: 4, stderr: expect.stringContaining("2 exported in part") });
});

test("an export with an incomplete thread can be imported without it", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  await using others = folder.stores("chats", { codec: gzipCodec() });
  for (const factory of [stores, others, stores])
    await factory.open("long").addMessages(Array.from({ length: 500 }, () => compressible));
  await stores.open("good").addMessages([text("a")]);
  const file = folder.file("out.jsonl");
  expect((await run(["export", folder.url(), "--output", file])).code).toBe(4);
  const imported = { code: 0, stdout: expect.stringContaining("1 imported") };
  expect(await run(["import", folder.url("b"), file])).toMatchObject(imported);
});

const problem = "run the copy or import that was stopped again, or delete the thread";

test("an unfinished copy is told by all commands, and finished by the same copy", async () => {
  using folder = new Folder();
  await using whole = folder.stores("whole");
  await using stores = folder.stores();
  await stores.open("short").addMessages([text("x")]);
  await whole.open("long").addMessages(Array.from({ length: 1_200 }, (_, index) => text(`${index}`)));
  const onProgress = () => {
    throw new Error("stopped");
  };
  const copying = whole.copyThread("long", "long", { target: stores, onProgress });
  await expect(copying).rejects.toThrow("stopped");

  const note = `unfinished copy: long: ${problem}\n`;
  expect(await run(["ls", folder.url()])).toMatchObject({ code: 0, stderr: note });
  expect(await run(["verify", folder.url()])).toMatchObject({ code: 4, stderr: note });
  const lines = jsonLines((await run(["verify", folder.url(), "--json"])).stdout);
  const outcome = { outcome: "unfinished copy", messages: 500, problems: [problem] };
  expect(lines).toContainEqual({ threadId: "long", ...outcome });
  expect(await run(["copy", folder.url(), folder.url("b")])).toMatchObject({ code: 4, stderr: note });
  const file = folder.file("out");
  const exported = await run(["export", folder.url(), "--output", file]);
  expect(exported).toMatchObject({ code: 4, stderr: expect.stringContaining(note) });
  expect(readFileSync(file, "utf8")).not.toContain("long");
  const metadata = { "scrollback.copy": { version: 1 } };
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(`"updatedAt"`, `"metadata":${JSON.stringify(metadata)},"updatedAt"`),
  );
  const refused = { code: 4, stderr: expect.stringContaining(":1: metadata must not have the key") };
  expect(await run(["import", folder.url("c"), file])).toMatchObject(refused);
  expect(existsSync(folder.file("c.db"))).toBe(false);
  expect((await run(["copy", folder.url("whole"), folder.url(), "--verify"])).code).toBe(0);
  expect(await run(["verify", folder.url()])).toMatchObject({ code: 0, stderr: "" });
});

test.each(["chats:chat:ada:c", "sessions:session:app:ada:s"])(
  "verify reports an unfinished copy of %s as such",
  async (threadId) => {
    using folder = new Folder();
    await using stores = folder.stores();
    const metadata = { "scrollback.copy": { version: 1, copy: "c", after: "a", copied: 1, commits: 1 } };
    await stores.open(threadId).commit({ append: [text("")], metadata });
    const verified = await run(["verify", folder.url()]);
    expect(verified).toMatchObject({ code: 4, stderr: `unfinished copy: ${threadId}: ${problem}\n` });
  },
);
