import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { postgresHarnesses } from "./harness.ts";

runConformance({ name: "PostgreSQL", createHarness: postgresHarnesses(sharedServer("postgres")) });
