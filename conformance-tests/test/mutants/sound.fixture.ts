import { runConformance } from "../../src/index.ts";
import { loopbackHarness } from "../loopback/harness.ts";
import { SOUND } from "./index.ts";

runConformance({ name: SOUND, createHarness: () => loopbackHarness() });
