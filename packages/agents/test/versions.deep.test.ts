import { join } from "node:path";
import { frameworkOf } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { declareVersionTests } from "../../../conformance-tests/test/fixtures/framework-versions.ts";

declareVersionTests({
  directory: join(import.meta.dirname, ".."),
  framework: frameworkOf("Mem0", "mem0ai", import.meta.url),
  packages: ["mem0ai"],
  files: ["test/mem0-*.server.test.ts"],
});
