import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll } from "vitest";
import { describeCrashes } from "./crashes.ts";

let server: RunningServer;
const database = `chats-${randomUUID()}`;
beforeAll(async () => {
  server = await startServer("mongodb");
});
afterAll(() => server.stop());

describeCrashes("mongodb", () => Object.assign(new URL(server.url), { pathname: `/${database}` }).href);
