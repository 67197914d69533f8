import { underLoad } from "@scrollback/conformance/internal";
import { expect, test } from "vitest";
import { startDurable } from "./durable-server.ts";
import { connect, dynamoHarnesses } from "./harness.ts";

test("a server stopped and restarted under load: nothing acknowledged is lost, nothing is doubled or out of order", async () => {
  const starting = startDurable();
  await using server = await starting;
  const harness = await dynamoHarnesses(starting)();
  const clients = Array.from({ length: 3 }, () => connect(harness.childProcess?.data));
  const restart = async () => {
    await server.kill();
    await server.start();
  };
  const figure = await underLoad(restart, { clients, sound: harness.driver });
  expect(figure.commits).toBeGreaterThan(clients.length);
  for (const client of clients) await client.close();
  await harness.close();
});
