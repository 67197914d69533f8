import { randomUUID } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { beforeAll } from "vitest";
import { dynamoForTests } from "../dynamo.ts";
import { describeCrashes } from "./crashes.ts";

let mongoUrl: string;
beforeAll(async () => {
  const server = await sharedServer("mongodb");
  mongoUrl = Object.assign(new URL(server.url), { pathname: `/chats-${randomUUID()}` }).href;
});

describeCrashes("mongodb", () => mongoUrl);
describeCrashes("dynamodb", dynamoForTests());
