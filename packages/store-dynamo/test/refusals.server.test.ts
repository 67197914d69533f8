import { inspect } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { StoreError } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDynamoStores } from "../src/index.ts";
import { type Answer, type Gateway, openGateway, refusal } from "./gateway.ts";
import { rawAccess } from "./harness.ts";
import { user } from "./messages.ts";
import { inProcess } from "./processes.ts";
import { makeTable, newTableName, secret, type TestTable, urlOf } from "./table.ts";

const server = sharedServer("dynamodb");
let table: TestTable;

beforeAll(async () => {
  table = await makeTable((await server).url);
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
});

const newGateway = async () => await openGateway((await server).url);
const storesBehind = (gateway: Gateway) => createDynamoStores({ url: table.urlBy(gateway.url) });

async function rejection(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => new Error("it was accepted"),
    (thrown) => thrown,
  );
  if (!StoreError.is(error)) throw error;
  return error;
}

/** Answers the first `times` requests for an action with an error. */
function refuseFirst(gateway: Gateway, action: string, times: number, answer: Answer): void {
  let left = times;
  gateway.answer = (asked) => (asked === action && left-- > 0 ? answer : undefined);
}

/** The answers with their names, for the test titles. */
function named<More extends unknown[]>(...cases: [Answer, ...More][]) {
  return cases.map(([answer, ...more]) => {
    const name = String(Reflect.get(answer.body, "__type")).replace(/^.*#/, "");
    return [name, answer, ...more] as const;
  });
}

describe.concurrent("a request that is rejected temporarily", () => {
  const retryable = named(
    [refusal("ProvisionedThroughputExceededException")],
    [refusal("ThrottlingException")],
    [refusal("RequestLimitExceeded")],
    [refusal("InternalServerError", "Internal server error", 500)],
    [refusal("ServiceUnavailable", "Service unavailable", 503)],
  );

  test.each(retryable)(
    "%s: writes and reads are retried and succeed, writes taking effect once",
    async (_, answer) => {
      await using gateway = await newGateway();
      await using stores = storesBehind(gateway);
      const store = stores.open();
      await store.addMessages([user("1")]);
      for (const times of [1, 3]) {
        refuseFirst(gateway, "PutItem", times, answer);
        await store.addMessages([user(`after ${times}`)]);
        refuseFirst(gateway, "Query", times, answer);
        await store.listMessages();
      }
      expect((await store.listMessages()).map(({ content }) => content)).toEqual(["1", "after 1", "after 3"]);
    },
  );

  test.each(retryable)("%s without end fails with UNAVAILABLE, retryable", async (_, answer) => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    await store.addMessages([user("1")]);
    gateway.answer = () => answer;
    const start = performance.now();
    const errors = await Promise.all([
      rejection(store.addMessages([user("2")])),
      rejection(store.listMessages()),
      rejection(store.clear()),
    ]);
    for (const error of errors) expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    // 5 seconds of retries by store-core, and the SDK's retries of the last attempt.
    expect(performance.now() - start).toBeLessThan(12_000);
    gateway.answer = () => undefined;
    expect(await store.listMessages()).toEqual([user("1")]);
  });

  /** Accepts a batch, but refuses its 25 statements. */
  const refused = (Code: string): Answer => ({
    status: 200,
    body: { Responses: Array(25).fill({ Error: { Code, Message: Code } }) },
  });

  test.each([
    ["of a batch", refusal("ProvisionedThroughputExceededException")],
    ["of its statements", refused("ProvisionedThroughputExceeded")],
    ["of its statements, under another name", refused("ThrottlingError")],
    ["of its statements, of the account", refused("RequestLimitExceeded")],
  ])("a clear continues after the throttling %s, without a new attempt", async (_, throttled) => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    // More than one request holds.
    const rows = process.env.SCROLLBACK_DEEP === "1" ? 60 : 30;
    for (let row = 0; row < rows; row++) await store.addMessages([user(`secret ${row}`)]);
    gateway.seen.length = 0;
    let asked = 0;
    gateway.answer = (action) =>
      action === "BatchExecuteStatement" && asked++ % 3 !== 0 ? throttled : undefined;
    await store.clear();
    // A second attempt would begin with a read of the thread.
    expect(new Set(gateway.seen)).toEqual(new Set(["PutItem", "BatchExecuteStatement"]));
    expect(await rawAccess(table).dump(store.threadId)).not.toContain("secret");
  });

  test("a clear whose statements fail for another reason fails with it, and a repeated clear completes it", async () => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    await store.addMessages([user("secret")]);
    const clear = () => store.clear({ operationId: "clear" });
    for (const [code, retryable] of [
      ["AccessDenied", false],
      ["ResourceNotFound", false],
    ] as const) {
      gateway.answer = (action) => (action === "BatchExecuteStatement" ? refused(code) : undefined);
      expect(await rejection(clear())).toMatchObject({ code: "UNAVAILABLE", retryable });
    }
    refuseFirst(gateway, "BatchExecuteStatement", 2, refused("InternalServerError"));
    await clear();
    expect(await rawAccess(table).dump(store.threadId)).not.toContain("secret");
  });

  test("a clear that fails after its row was inserted is completed by a repeated clear", async () => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    for (let row = 0; row < 20; row++) await store.addMessages([user(`secret ${row}`)]);
    const failure = refusal("InternalServerError", "Internal server error", 500);
    // The SDK sends each request twice.
    refuseFirst(gateway, "BatchExecuteStatement", 2, failure);
    await store.clear();
    expect(await rawAccess(table).dump(store.threadId)).not.toContain("secret");
  });
});

describe.concurrent("a request that is rejected permanently", () => {
  const content = "what the user said";
  const token = "FwoGZXIvYXdzEXAMPLEsessiontoken";
  const signature = `The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.

The Canonical String for this request should have been
'POST
/

host:dynamodb.eu-central-1.amazonaws.com
x-amz-security-token:${token}

host;x-amz-security-token'`;

  test.each(
    named(
      [refusal("AccessDeniedException", "User: arn:aws:iam::1:user/a is not authorized"), /the policy/],
      [refusal("UnrecognizedClientException", "The security token is invalid."), /were rejected; check/],
      [refusal("InvalidSignatureException", signature), /were rejected; check/],
      [refusal("ExpiredTokenException", "The security token is expired"), /expired; renew/],
      [refusal("ResourceNotFoundException", "Requested resource not found"), /run setup\(\)/],
    ),
  )("%s fails with UNAVAILABLE at once, and the message says what to do", async (_, answer, message) => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    gateway.answer = () => answer;
    for (const call of [() => store.addMessages([user(content)]), () => store.listMessages()]) {
      gateway.seen.length = 0;
      const error = await rejection(call());
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
      expect(error.message).toMatch(message);
      expect(gateway.seen).toHaveLength(1);
      const shown = inspect(error, { depth: null, showHidden: true });
      expect(shown).toContain("httpStatusCode: 400");
      for (const hidden of [token, secret, content]) expect(shown).not.toContain(hidden);
    }
  });

  test("the error of a failed write contains no written content", async () => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    await store.addMessages([user("1")]);
    gateway.answer = () => refusal("AccessDeniedException");
    const error = await rejection(store.addMessages([user(content)]));
    const shown = inspect(error, { depth: null, showHidden: true });
    for (const hidden of [content, Buffer.from(content).toString("base64").slice(4, -4), "Signature="]) {
      expect(shown).not.toContain(hidden);
    }
  });

  test("a missing table: the message says how to create it", async () => {
    await using stores = createDynamoStores({ url: urlOf(newTableName(), (await server).url) });
    const error = await rejection(stores.open().addMessages([user("a")]));
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("run setup()");
  });

  const bare = { PATH: process.env.PATH, HOME: "/nonexistent", AWS_EC2_METADATA_DISABLED: "true" };

  test("without credentials the message names the places searched", async () => {
    const error = await inProcess(["fail", table.url], bare);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error).toMatchObject({ message: expect.stringContaining("no credentials were found") });
  });

  test("without a region the message says where to set it", async () => {
    const endpoint = encodeURIComponent((await server).url);
    const error = await inProcess(["fail", `dynamodb://table?endpoint=${endpoint}`], {
      ...bare,
      AWS_ACCESS_KEY_ID: "suite",
      AWS_SECRET_ACCESS_KEY: secret,
    });
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error).toMatchObject({ message: expect.stringContaining("?region=") });
    expect(JSON.stringify(error)).not.toContain(secret);
  });

  test("an unreachable endpoint fails with UNAVAILABLE, retryable", async () => {
    await using stores = createDynamoStores({ url: urlOf("table", "http://127.0.0.1:1") });
    const error = await rejection(stores.open().listMessages());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  });
});
