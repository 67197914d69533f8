import { runConformance } from "../src/index.ts";
import { memoryHarness } from "./memory-harness.ts";

runConformance({ name: "Memory", createHarness: () => memoryHarness() });
