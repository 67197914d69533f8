import { fork } from "node:child_process";
import { once } from "node:events";
import { TcpProxy } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, onTestFinished, test } from "vitest";

const program = new URL("closing/program.ts", import.meta.url);

test.each([
  ["redis", 6379, (url: string) => url],
  ["mongodb", 27017, (url: string) => url],
  ["postgres", 5432, (url: string) => url],
  ["dynamodb", 8000, (url: string) => `dynamodb://closing?region=eu-central-1&endpoint=${url}`],
] as const)("a process ends after close() although its %s hangs", async (name, port, urlOf) => {
  const server = await sharedServer(name);
  const proxy = new TcpProxy();
  onTestFinished(() => proxy.close());
  const url = urlOf(await proxy.forwardUrl(server.url, port));
  // DynamoDB's client signs its requests with these, also for a local server.
  const env = { ...process.env, AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none" };
  const child = fork(program, [url], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  proxy.set({ kind: "hang" });
  child.send("close");
  const [code] = await once(child, "exit", { signal: AbortSignal.timeout(15_000) });
  expect(code).toBe(0);
});
