import { runConformance } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { redisHarnesses } from "./harness.ts";

const server = startServer("valkey", { password: "hunter2" });
afterAll(async () => (await server).stop());

runConformance({ name: "Valkey", createHarness: redisHarnesses(server) });
