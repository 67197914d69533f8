import { randomUUID } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { describe, vi } from "vitest";
import { expectDone, test } from "./demo-runs.ts";

describe.each([
  ["mongodb", (url: string) => `${url}demo-${randomUUID()}`],
  ["postgres", (url: string) => url],
  ["dynamodb", (url: string) => `dynamodb://demo-${randomUUID()}?region=eu-central-1&endpoint=${url}`],
] as const)("on %s", (name, urlOf) => {
  test("runs as documented without any setup", async ({ demo }) => {
    // DynamoDB's client signs its requests with these, also for a local server.
    vi.stubEnv("AWS_ACCESS_KEY_ID", "none");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "none");
    const { url } = await sharedServer(name);
    expectDone(await demo("--store", urlOf(url)));
    vi.unstubAllEnvs();
  });
});
