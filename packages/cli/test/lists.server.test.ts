import { ChatStore } from "@scrollback/chats";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { createRedisStores } from "@scrollback/store-redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "./run.ts";

const ids = ["a", "b", "c"];
let server: RunningServer;

beforeAll(async () => {
  // A server of this file's own, because the CLI sees all threads that have the default names.
  server = await startServer("redis");
});
afterAll(() => server?.stop());

test.each(["entries", "entry-values", "*"])(
  "rebuild mends lists of which Redis has evicted %s",
  async (part) => {
    const { url } = server;
    await using stores = createRedisStores({ url });
    await using chats = new ChatStore({ stores });
    const mine = chats.of("ada");
    for (const id of ids)
      await mine.create({ id, messages: [], title: id, ...(id === "b" && { pinned: true }) });
    const listed = (await mine.list()).chats;
    const client = new Redis(url);
    const keys = await client.keys(part === "*" ? "*:entr*" : `*:${part}`);
    expect(await client.del(...keys)).toBeGreaterThan(1);
    await client.quit();

    const verified = await run(["verify", url]);
    expect({ ...verified, stdout: "" }).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("not listed"),
    });
    const { code, stdout } = await run(["rebuild", url]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^threads: 3 listed again/) });
    expect((await mine.list()).chats).toEqual(listed);
    expect((await run(["verify", url])).code).toBe(0);
    await mine.deleteAll();
  },
);
