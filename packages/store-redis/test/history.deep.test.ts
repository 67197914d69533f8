import { runHistory } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { redisHarnesses } from "./harness.ts";

/** A server that acknowledges a write after writing it to disk, so that a test can kill it. */
const server = startServer("redis", { args: ["--appendonly", "yes", "--appendfsync", "always"] });
afterAll(async () => (await server).stop());

const createHarness = redisHarnesses(server);

runHistory({
  name: "Redis",
  async createHarness() {
    const { faults, ...harness } = await createHarness();
    const { kill, start } = await server;
    const crash = async () => {
      await kill();
      await start();
    };
    return { ...harness, ...(faults && { faults: { ...faults, crash } }) };
  },
});
