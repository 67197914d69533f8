import { join } from "node:path";
import { declareVersionTests } from "../../../conformance-tests/test/fixtures/framework-versions.ts";
import { framework } from "./framework.ts";

declareVersionTests({
  directory: join(import.meta.dirname, ".."),
  framework,
  packages: ["@strands-agents/sdk"],
  // The bridge has no peer dependency on it: its storage is an object of the shape that the SDK asks for.
  oldest: { "@strands-agents/sdk": "1.14.0" },
  files: ["test/!(*.server|*.deep|costs).test.ts", "test/backends.deep.test.ts"],
});
