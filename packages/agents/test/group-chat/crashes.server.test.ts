import { newServerUrl } from "../../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareCrashes } from "./crashes.ts";

declareCrashes("Redis", () => newServerUrl("Redis"));
