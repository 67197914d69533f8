import { join } from "node:path";
import { declareNewestTest } from "../../../conformance-tests/test/fixtures/newest-framework.ts";
import { framework } from "./framework.ts";

declareNewestTest({
  directory: join(import.meta.dirname, ".."),
  framework,
  packages: ["ai", "resumable-stream"],
  files: ["test/!(*.server|*.deep|costs).test.ts", "test/backends.deep.test.ts"],
});
