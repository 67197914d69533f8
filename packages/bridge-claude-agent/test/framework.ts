import type { Framework } from "../../../conformance-tests/test/fixtures/framework-tests.ts";

/** What this bridge is for, at the version that its tests run with. The SDK is no dependency, because its licence is its own. */
export const framework: Framework = {
  name: "Claude Agent SDK",
  version: process.env.SCROLLBACK_CLAUDE_AGENT_SDK ?? "0.3.330",
};
