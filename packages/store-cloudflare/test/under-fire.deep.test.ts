import { runFaults } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { harnessesIn } from "./harness.ts";
import { Workerd } from "./workerd.ts";

const workerd = Workerd.start();
afterAll(async () => (await workerd).stop());

for (const [name, kind] of [
  ["D1", "d1"],
  ["Durable Objects", "object"],
] as const)
  runFaults({ name, createHarness: harnessesIn(workerd, kind), server: () => workerd });
