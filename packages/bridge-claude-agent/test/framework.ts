import type { Framework } from "../../../conformance-tests/test/fixtures/framework-tests.ts";

/** The framework of this bridge, at the version of its tests. The SDK is not a dependency, because it has its own licence. */
export const framework: Framework = {
  name: "Claude Agent SDK",
  version: process.env.SCROLLBACK_CLAUDE_AGENT_SDK ?? "0.3.330",
};
