import { join } from "node:path";
import { declareVersionTests } from "../../../conformance-tests/test/fixtures/framework-versions.ts";
import { framework } from "./framework.ts";

declareVersionTests({
  directory: join(import.meta.dirname, ".."),
  framework,
  packages: ["@openai/agents-core", "@openai/agents-openai"],
  files: ["test/!(*.server|*.deep|costs).test.ts", "test/backends.deep.test.ts"],
});
