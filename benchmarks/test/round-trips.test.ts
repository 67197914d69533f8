import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { test } from "node:test";
import { countRoundTrips } from "../src/round-trips.ts";

/** A server that answers every line with a line. */
async function startLineServer() {
  const server = createServer((socket) => {
    socket.on("data", (bytes) => socket.write(bytes.toString().replace(/[^\n]/g, "")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

test("a wait for a reply is one round trip, with any number of requests before it", async (context) => {
  const { server, port } = await startLineServer();
  const counter = await countRoundTrips({ host: "127.0.0.1", port });
  const client = connect(counter.port, "127.0.0.1");
  client.setNoDelay(true);
  context.after(async () => {
    client.destroy();
    await counter.close();
    server.close();
  });
  const lines = async (count: number) => {
    for (let got = 0; got < count; ) got += String((await once(client, "data"))[0]).length;
  };
  assert.equal(counter.count(), 0);

  client.write("one\n");
  await lines(1);
  assert.equal(counter.count(), 1);

  client.write("two\nthree\nfour\n");
  await lines(3);
  assert.equal(counter.count(), 2, "a pipeline is one round trip");

  client.write(`${"x".repeat(5_000_000)}\n`);
  await lines(1);
  assert.equal(counter.count(), 3, "a request of many packets is one round trip");

  for (let call = 0; call < 20; call++) {
    client.write("again\n");
    await lines(1);
  }
  assert.equal(counter.count(), 23, "twenty consecutive requests are twenty round trips");
});
