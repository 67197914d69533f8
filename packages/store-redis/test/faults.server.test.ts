import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { clientNames, majors, opened } from "./clients.ts";
import { clients } from "./connection.ts";
import { user } from "./messages.ts";
import { ownOf } from "./own-connection.ts";
import { throughProxy } from "./proxied.ts";

let server: RunningServer;
beforeAll(async () => {
  // A server of its own, because it is killed; it acknowledges a write after writing it to disk.
  server = await startServer("redis", {
    password: "hunter2",
    args: ["--appendonly", "yes", "--appendfsync", "always"],
  });
});
afterAll(() => server.stop());

describe.each(clientNames)("a client of %s that was handed in", (name) => {
  test("applies a commit whose reply was lost once", async () => {
    const { proxy, url } = await throughProxy(server);
    const { client, close } = clients[name].for(url);
    onTestFinished(close);
    const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
    await store.addMessages([user("0")]);
    for (let round = 1; round <= 5; round++) {
      proxy.set({ kind: "cut-reply", afterBytes: round - 1, times: 1 });
      await store.addMessages([user(String(round))]);
      expect(proxy.mode.kind, "the cut interrupted a request").toBe("pass");
    }
    expect(await store.listMessages()).toEqual(["0", "1", "2", "3", "4", "5"].map(user));
  });
});

test("a read whose two parts have different revisions is repeated as one", async () => {
  const [{ Redis }] = majors as [(typeof majors)[0]];
  const keyPrefix = randomUUID();
  const [client, other] = [opened(new Redis(server.url)), opened(new Redis(server.url))];
  const writer = createRedisStores({ client: other, keyPrefix }).open("a");
  await writer.commit({ append: [user("1")], metadata: 1 });
  let interruptions = 0;
  const used = ownOf(client).client;
  const pipeline = used.pipeline.bind(used);
  used.pipeline = () => {
    const both = pipeline();
    both.exec = async () => {
      // Another client commits between the two commands, as if a packet ended between them.
      const list = await client.lrange(`${keyPrefix}:{a}:messages`, 0, -1);
      interruptions += 1;
      await writer.commit({ append: [user("2")], metadata: 2 });
      const meta = await client.hmget(`${keyPrefix}:{a}:meta`, "revision", "metadata");
      return [
        [null, list],
        [null, meta],
      ];
    };
    return both;
  };
  const page = await createRedisStores({ client, keyPrefix }).open("a").read();
  expect(interruptions).toBe(1);
  expect(page).toMatchObject({ entries: [{ message: user("1") }, { message: user("2") }], metadata: 2 });
});
