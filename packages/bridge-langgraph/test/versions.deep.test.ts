import { join } from "node:path";
import { declareVersionTests } from "../../../conformance-tests/test/fixtures/framework-versions.ts";
import { framework } from "./framework.ts";

declareVersionTests({
  directory: join(import.meta.dirname, ".."),
  framework,
  packages: [
    "@langchain/langgraph",
    "@langchain/langgraph-checkpoint",
    "@langchain/core",
    "@langchain/langgraph-checkpoint-validation",
  ],
  // Without peer dependencies: only tests need them.
  oldest: { "@langchain/langgraph": "1.7.0", "@langchain/langgraph-checkpoint-validation": "1.1.1" },
  files: ["test/!(*.server|*.deep|costs).test.ts", "test/backends.deep.test.ts"],
});
