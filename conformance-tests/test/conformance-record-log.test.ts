import { runConformance } from "../src/index.ts";
import { recordLogHarness } from "./record-log-harness.ts";

runConformance({ name: "Record log", createHarness: recordLogHarness });
