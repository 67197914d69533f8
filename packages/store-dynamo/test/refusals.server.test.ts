import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { StoreError } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDynamoStores } from "../src/index.ts";
import { type Answer, cancelled, type Gateway, openGateway, refusal } from "./gateway.ts";
import { rawAccess } from "./harness.ts";
import { user } from "./messages.ts";
import { makeTable, secret, type TestTable } from "./table.ts";

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
  test.each(
    named([refusal("ThrottlingException")], [refusal("InternalServerError", "Internal server error", 500)]),
  )("%s: writes and reads are retried and succeed, writes taking effect once", async (_, answer) => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    await store.addMessages([user("1")]);
    for (const times of [1, 3]) {
      refuseFirst(gateway, "TransactWriteItems", times, answer);
      await store.addMessages([user(`after ${times}`)]);
      refuseFirst(gateway, "Query", times, answer);
      await store.listMessages();
    }
    expect((await store.listMessages()).map(({ content }) => content)).toEqual(["1", "after 1", "after 3"]);
  });

  test.each(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])(
    "a transaction that is cancelled for %s is repeated by the driver, and takes effect once",
    async (code) => {
      await using gateway = await newGateway();
      await using stores = storesBehind(gateway);
      const store = stores.open();
      await store.addMessages([user("1")]);
      gateway.seen.length = 0;
      refuseFirst(gateway, "TransactWriteItems", 2, cancelled("None", code));
      await store.addMessages([user("2")]);
      expect(gateway.seen).toEqual(Array(3).fill("TransactWriteItems"));
      expect(await store.listMessages()).toHaveLength(2);
    },
  );

  test("a transaction in progress is repeated under its token; a token of another request is a new attempt", async () => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    await store.addMessages([user("1")]);
    const tokens: unknown[] = [];
    gateway.onBody = (action, body) => {
      if (action === "TransactWriteItems") tokens.push(body.ClientRequestToken);
    };
    refuseFirst(gateway, "TransactWriteItems", 4, refusal("TransactionInProgressException"));
    await store.addMessages([user("2")]);
    expect(tokens.length).toBeGreaterThan(4);
    expect(new Set(tokens).size).toBe(1);
    tokens.length = 0;
    refuseFirst(gateway, "TransactWriteItems", 1, refusal("IdempotentParameterMismatchException"));
    await store.addMessages([user("3")]);
    expect(new Set(tokens).size).toBe(2);
    expect((await store.listMessages()).map(({ content }) => content)).toEqual(["1", "2", "3"]);
  });

  test("a clear continues after the throttling of its batches, also of parts of them, without a new attempt", async () => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    const store = stores.open();
    await store.addMessages(Array.from({ length: 120 }, (_, row) => user(`secret ${row}`)));
    gateway.seen.length = 0;
    let asked = 0;
    gateway.answer = (action) =>
      action === "BatchWriteItem" && asked++ % 3 !== 0
        ? refusal("ProvisionedThroughputExceededException")
        : undefined;
    await store.clear();
    // A second attempt would begin with a read of the head.
    expect(new Set(gateway.seen)).toEqual(new Set(["TransactWriteItems", "Query", "BatchWriteItem"]));
    expect(await rawAccess(table).dump(store.threadId)).not.toContain("secret");
  });

  test("a clear that fails after its transaction is completed by a repeated clear, or by the next commit of anyone", async () => {
    await using gateway = await newGateway();
    await using stores = storesBehind(gateway);
    for (const next of ["the same clear", "another commit"]) {
      const store = stores.open();
      for (let row = 0; row < 3; row++)
        await store.addMessages(Array.from({ length: 60 }, (_, index) => user(`secret ${row} ${index}`)));
      const clear = () => store.clear({ operationId: "clear" });
      gateway.answer = (action) =>
        action === "BatchWriteItem" ? refusal("AccessDeniedException") : undefined;
      expect(await rejection(clear())).toMatchObject({ code: "UNAVAILABLE", retryable: false });
      expect(await store.listMessages()).toEqual([]);
      expect(await rawAccess(table).dump(store.threadId)).toContain("secret");
      gateway.answer = () => undefined;
      if (next === "the same clear") await clear();
      else
        await createDynamoStores({ url: table.url })
          .open(store.threadId)
          .addMessages([user("new")]);
      expect(await rawAccess(table).dump(store.threadId)).not.toContain("secret");
    }
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

  const { PATH, NODE_OPTIONS } = process.env;
  const bare = { PATH, NODE_OPTIONS, HOME: "/nonexistent", AWS_EC2_METADATA_DISABLED: "true" };

  /** The error of a first call in another process. */
  async function failIn(env: NodeJS.ProcessEnv, url: string): Promise<unknown> {
    const child = fileURLToPath(new URL("child.ts", import.meta.url));
    return JSON.parse((await promisify(execFile)(process.execPath, [child, url], { env })).stdout);
  }

  test("without credentials the message names the places searched", async () => {
    const error = await failIn(bare, table.url);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error).toMatchObject({ message: expect.stringContaining("no credentials were found") });
  });

  test("without a region the message says where to set it", async () => {
    const endpoint = encodeURIComponent((await server).url);
    const keys = { AWS_ACCESS_KEY_ID: "suite", AWS_SECRET_ACCESS_KEY: secret };
    const error = await failIn({ ...bare, ...keys }, `dynamodb://table?endpoint=${endpoint}`);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error).toMatchObject({ message: expect.stringContaining("?region=") });
    expect(JSON.stringify(error)).not.toContain(secret);
  });
});
