import { runFaults } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { mongoHarnesses } from "./harness.ts";

const server = startServer("mongodb");
afterAll(async () => (await server).stop());

runFaults({ name: "MongoDB", createHarness: mongoHarnesses(server), server: () => server });
