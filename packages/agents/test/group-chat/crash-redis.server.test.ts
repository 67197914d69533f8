import { sharedServer } from "@scrollback/conformance/servers";
import { beforeAll } from "vitest";
import { describeCrashes } from "./crashes.ts";

let url: string;
beforeAll(async () => {
  const { host, port } = await sharedServer("redis");
  // The server's default user has no password and accepts any.
  url = `redis://default:hush@${host}:${port}`;
});

describeCrashes("redis", () => url);
