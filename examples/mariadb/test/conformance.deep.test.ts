import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { mariadbHarnesses } from "./harness.ts";

runConformance({ name: "MariaDB", createHarness: mariadbHarnesses(sharedServer("mariadb")) });
