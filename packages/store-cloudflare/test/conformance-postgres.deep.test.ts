import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { postgresHarnesses } from "../../store-postgres/test/harness.ts";
import { heldIn } from "./held-harness.ts";
import { Workerd } from "./workerd.ts";

const workerd = Workerd.start();
afterAll(async () => (await workerd).stop());

runConformance({
  name: "PostgreSQL, in workerd",
  createHarness: heldIn(workerd, "postgres", postgresHarnesses(sharedServer("postgres"))),
});
