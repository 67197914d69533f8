import { runConformance } from "@scrollback/conformance";
import { createLibsqlHarness } from "./harness.ts";

runConformance({ name: "libSQL", createHarness: createLibsqlHarness });
