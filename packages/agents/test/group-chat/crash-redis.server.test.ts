import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll } from "vitest";
import { describeCrashes } from "./crashes.ts";

let server: RunningServer;
beforeAll(async () => {
  server = await startServer("redis", { password: "hush" });
});
afterAll(() => server.stop());

describeCrashes("redis", () => server.url);
