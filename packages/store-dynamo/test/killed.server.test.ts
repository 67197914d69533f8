import { underLoad } from "@scrollback/conformance/internal";
import { startServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { connect, dynamoHarnesses } from "./harness.ts";

test("a server killed and restarted under load: nothing acknowledged is lost, nothing is doubled or out of order", async () => {
  // A server of its own, because it is killed; its data is in a file, so that it survives the kill.
  const starting = startServer("dynamodb", { args: ["-dbPath", "/tmp"] });
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
