import { join } from "node:path";
import { declareNewestTest } from "../../../conformance-tests/test/fixtures/newest-framework.ts";
import { framework } from "./framework.ts";

declareNewestTest({
  directory: join(import.meta.dirname, ".."),
  framework,
  packages: ["@anthropic-ai/claude-agent-sdk"],
  files: ["test/sdk.server.test.ts", "test/backends.deep.test.ts"],
  variable: "SCROLLBACK_CLAUDE_AGENT_SDK",
});
