import { gzipCodec } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const text = (content: string) => ({ role: "user" as const, content });

/** Two threads: one has an unreadable record in the middle, the other has unreadable metadata. */
async function fill(folder: Folder): Promise<void> {
  await using stores = folder.stores();
  await using others = folder.stores("chats", { codec: gzipCodec() });
  await stores.open("good").addMessages([text("a")]);
  for (let index = 1; index <= 3; index++) {
    const compressible = [text("tram ".repeat(50))];
    await (index === 2 ? others : stores).open("bad").addMessages(compressible);
  }
  await others.open("worse").commit({ append: [text("b")], metadata: { title: "tram ".repeat(50) } });
}

test("verify names each unreadable record with its sequence number", async () => {
  using folder = new Folder();
  await fill(folder);
  const { code, stdout, stderr } = await run(["verify", folder.url()]);
  expect(code).toBe(4);
  expect(stderr).toMatch(/^corrupt: bad: message 2 of thread "bad" cannot be read: /m);
  expect(stderr).toMatch(/^corrupt: worse: the metadata of thread "worse" cannot be read: /m);
  expect(stdout).toMatch(/^threads: .*1 readable/);
  const lines = jsonLines((await run(["verify", folder.url(), "--json"])).stdout);
  expect(lines).toContainEqual({ threadId: "good", outcome: "readable", messages: 1 });
  expect(lines).toContainEqual({
    threadId: "bad",
    outcome: "corrupt",
    messages: 2,
    problems: [expect.stringContaining("message 2")],
  });
  expect((await run(["verify", folder.url()], { env: { SCROLLBACK_CODEC: "gzip" } })).code).toBe(0);
});

test("copy and export skip such threads, or take their readable messages", async () => {
  using folder = new Folder();
  await fill(folder);
  const strict = await run(["copy", folder.url(), folder.url("b")]);
  expect(strict.code).toBe(4);
  expect(strict.stderr).toMatch(/^corrupt: bad: /m);
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
  for (let page = 0; page < 3; page++) {
    const messages = Array.from({ length: 500 }, () => text("tram ".repeat(50)));
    await (page === 1 ? others : stores).open("long").addMessages(messages);
  }
  await stores.open("good").addMessages([text("a")]);
  const file = folder.file("out.jsonl");
  expect((await run(["export", folder.url(), "--output", file])).code).toBe(4);
  expect(await run(["import", folder.url("b"), file])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 imported"),
  });
});

test("ls lists the readable threads, and reports the others", async () => {
  using folder = new Folder();
  await fill(folder);
  const { code, stdout, stderr } = await run(["ls", folder.url(), "--json"]);
  expect(jsonLines(stdout)).toHaveLength(3);
  expect({ code, stderr }).toEqual({
    code: 4,
    stderr: expect.stringContaining("1 record could not be read while listing"),
  });
});
