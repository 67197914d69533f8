import { randomUUID } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { beforeAll } from "vitest";
import { describeCrashes } from "./crashes.ts";

let url: string;
beforeAll(async () => {
  const server = await sharedServer("mongodb");
  url = Object.assign(new URL(server.url), { pathname: `/chats-${randomUUID()}` }).href;
});

describeCrashes("mongodb", () => url);
