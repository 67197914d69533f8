import { runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { memoryHarness } from "../../../conformance-tests/test/memory-harness.ts";
import { heldIn } from "./held-harness.ts";
import { Workerd } from "./workerd.ts";

const workerd = Workerd.start();
afterAll(async () => (await workerd).stop());

runConformance({
  name: "Memory, in workerd",
  createHarness: heldIn(workerd, "memory", () => memoryHarness()),
});
