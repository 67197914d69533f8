import { runConformance } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { mongoHarnesses } from "./harness.ts";

const server = startServer("mongodb");
afterAll(async () => (await server).stop());

runConformance({ name: "MongoDB", createHarness: mongoHarnesses(server) });
