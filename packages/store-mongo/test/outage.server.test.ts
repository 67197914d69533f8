import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { rejection } from "./rejection.ts";

async function expectOutage(url: string, ...parts: string[]) {
  await using stores = createMongoStores({ url });
  const errors = await Promise.all([
    rejection(stores.open().listMessages()),
    rejection(stores.open().addMessages([user("a")])),
  ]);
  for (const error of errors) {
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    for (const part of parts) expect(error.message).toContain(part);
    expect(error.message).not.toContain("hush");
  }
}

test.concurrent("an outage names each server that nothing listens on", () =>
  expectOutage(
    "mongodb://me:hush@127.0.0.1:1,127.0.0.1:2/app",
    "127.0.0.1:1 (ECONNREFUSED)",
    "127.0.0.1:2 (ECONNREFUSED)",
  ));

test.concurrent("an outage names an unknown server", () =>
  expectOutage("mongodb://nohost.invalid/app", "nohost.invalid:27017 (ENOTFOUND)"));

test.concurrent("an outage names an unknown seed list", () =>
  expectOutage("mongodb+srv://nohost.invalid/app", "nohost.invalid (ENOTFOUND)"));

test.concurrent("an outage names a server that is silent", async () => {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  onTestFinished(() => {
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await expectOutage(`mongodb://127.0.0.1:${port}/app`, `127.0.0.1:${port} (timeout)`);
});
