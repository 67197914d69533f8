import { underLoad } from "@scrollback/conformance/internal";
import { startServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { connect } from "./client.ts";
import { mongoHarnesses } from "./harness.ts";

test("a server killed and restarted under load: nothing acknowledged is lost, nothing is doubled or out of order", async () => {
  // A server of its own, because it is killed.
  const starting = startServer("mongodb");
  await using server = await starting;
  const harness = await mongoHarnesses(starting)();
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
