import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { mongoHarnesses } from "./harness.ts";

const server = sharedServer("mongodb");

runConformance({ name: "MongoDB", createHarness: mongoHarnesses(server) });
