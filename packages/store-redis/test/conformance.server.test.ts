import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { redisHarnesses } from "./harness.ts";

runConformance({ name: "Redis", createHarness: redisHarnesses(sharedServer("redis")) });
