import { randomUUID } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { beforeAll } from "vitest";
import { dynamoForTests } from "./dynamo.ts";
import { describeRestarts } from "./restarts.ts";

let mongoUrl: string;
beforeAll(async () => {
  const server = await sharedServer("mongodb");
  mongoUrl = Object.assign(new URL(server.url), { pathname: `/agents-${randomUUID()}` }).href;
});

describeRestarts("mongodb", () => mongoUrl);
describeRestarts("dynamodb", dynamoForTests());
