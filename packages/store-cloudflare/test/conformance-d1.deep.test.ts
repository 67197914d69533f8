import { runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { harnessesIn } from "./harness.ts";
import { Workerd } from "./workerd.ts";

const workerd = Workerd.start();
afterAll(async () => (await workerd).stop());

runConformance({ name: "D1", createHarness: harnessesIn(workerd, "d1") });
