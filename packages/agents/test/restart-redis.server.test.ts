import { sharedServer } from "@scrollback/conformance/servers";
import { beforeAll } from "vitest";
import { describeRestarts } from "./restarts.ts";

let url: string;
beforeAll(async () => {
  const { host, port } = await sharedServer("redis");
  // The server's default user has no password and accepts any.
  url = `redis://default:hush@${host}:${port}`;
});

describeRestarts("redis", () => url);
