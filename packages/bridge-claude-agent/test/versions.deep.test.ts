import { join } from "node:path";
import { declareVersionTests } from "../../../conformance-tests/test/fixtures/framework-versions.ts";
import { framework } from "./framework.ts";

declareVersionTests({
  directory: join(import.meta.dirname, ".."),
  framework,
  packages: ["@anthropic-ai/claude-agent-sdk"],
  // Not a peer dependency: the interface is alpha, and the SDK has its own licence.
  oldest: { "@anthropic-ai/claude-agent-sdk": "0.3.330" },
  files: ["test/sdk.server.test.ts", "test/backends.deep.test.ts"],
  variable: "SCROLLBACK_CLAUDE_AGENT_SDK",
});
