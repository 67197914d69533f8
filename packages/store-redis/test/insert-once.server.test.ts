import { randomUUID } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, onTestFinished, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { clientNames } from "./clients.ts";
import { clients } from "./connection.ts";
import { throughProxy } from "./proxied.ts";
import { rejection } from "./rejection.ts";

const place = { key: "k", id: "e" };
const content = { version: 1, order: 1, value: "v" };

// With the options that each client has by default: some send again what was not replied to. Only the stores meet the fault.
test.each(clientNames)(
  "C23 a client of %s that was handed in does not repeat an insert whose reply is lost",
  async (name) => {
    const open = await sharedServer("redis");
    const { proxy, url } = await throughProxy(open);
    const { client, close } = clients[name].for(url);
    onTestFinished(close);
    const keyPrefix = randomUUID();
    const index = createRedisStores({ client, keyPrefix }).index("i");
    const others = createRedisStores({ url: open.url, keyPrefix });
    onTestFinished(() => others.close());
    await index.insert({ key: "first", id: "e" }, content);
    proxy.set({ kind: "cut-reply", times: 1 });
    expect((await rejection(index.insert(place, content))).code).toBe("UNAVAILABLE");
    expect(await others.index("i").entriesOf("k")).toHaveLength(1);
    await others.index("i").remove(place);
    // Everything that waited for the new connection has been sent before this.
    expect(await index.entriesOf("k")).toEqual([]);
    expect(await index.insert(place, content)).toBe(true);
    expect(await index.insert(place, content)).toBe(false);
  },
);
