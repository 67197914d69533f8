import { sharedServer } from "@scrollback/conformance/servers";
import { expect } from "vitest";
import { test } from "./programs.ts";

test.concurrent.for(["sqlite", "redis"] as const)(
  "the demo kills an agent, continues, and loses nothing, on %s",
  async (backend, { run }) => {
    // The server's default user has no password and accepts any.
    const { host, port } = backend === "redis" ? await sharedServer("redis") : {};
    const { stdout, stderr } = await run(
      "demo/demo.ts",
      host ? [`redis://default:hush@${host}:${port}`] : [],
    );
    expect(stderr).toBe("");
    expect(stdout).toContain(" 235 messages in 114 batches, with 77 tool calls\n");
    expect(stdout).toMatch(/ Killed by SIGKILL: \d\d batches acknowledged, batch \d\d begun\./);
    expect(stdout).toMatch(
      / Batch \d\d was sent again under the same operation id, and got the first outcome\./,
    );
    expect(stdout).toContain(" ✓ nothing lost or doubled: 235 messages added, the newest is number 235\n");
    expect(stdout.match(/ ✓ /g)).toHaveLength(5);
    expect(stdout).not.toMatch(/✗|hush/);
  },
);
