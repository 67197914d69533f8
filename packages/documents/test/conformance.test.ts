import { runConformance } from "@scrollback/conformance";
import { documentsHarness } from "./harness.ts";

runConformance({ name: "Documents", createHarness: documentsHarness });
