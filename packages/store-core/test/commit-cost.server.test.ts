import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("the overhead of store-core on a commit is at most a few times JSON.stringify of the messages", async () => {
  // A process of its own: vitest transforms modules, so the same code takes a fifth more time there, and sometimes two thirds more.
  const program = join(import.meta.dirname, "commit-cost-process.ts");
  // Turns off OpenTelemetry, which is installed for other tests.
  const env = { ...process.env, NODE_OPTIONS: "", OTEL_SDK_DISABLED: "true" };
  const { stdout } = await run(process.execPath, [program], { env });
  const [one, twenty] = JSON.parse(stdout) as [number, number];
  console.log(`times JSON.stringify: ${one.toFixed(2)} for 1 message, ${twenty.toFixed(2)} for 20`);
  // 2.9 and 1.8. With a digest of each commit: 4.4 and 2.9.
  expect(one).toBeLessThan(4.2);
  expect(twenty).toBeLessThan(2.6);
});
