import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll } from "vitest";
import { describeRestarts } from "./restarts.ts";

let server: RunningServer;
const database = `agents-${randomUUID()}`;
beforeAll(async () => {
  server = await startServer("mongodb");
});
afterAll(() => server.stop());

describeRestarts("mongodb", () => Object.assign(new URL(server.url), { pathname: `/${database}` }).href);
