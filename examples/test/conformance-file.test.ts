import { runConformance } from "@scrollback/conformance";
import { fileHarness } from "./file-harness.ts";

runConformance({ name: "Files", createHarness: fileHarness });
