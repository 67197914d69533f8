import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { redisHarnesses } from "../../store-redis/test/harness.ts";
import { heldIn } from "./held-harness.ts";
import { Workerd } from "./workerd.ts";

const workerd = Workerd.start();
afterAll(async () => (await workerd).stop());

runConformance({
  name: "Redis, in workerd",
  createHarness: heldIn(workerd, "redis", redisHarnesses(sharedServer("redis"))),
});
