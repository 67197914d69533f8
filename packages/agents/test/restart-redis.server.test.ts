import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll } from "vitest";
import { describeRestarts } from "./restarts.ts";

let server: RunningServer;
beforeAll(async () => {
  server = await startServer("redis", { password: "hush" });
});
afterAll(() => server.stop());

describeRestarts("redis", () => server.url);
