import { Agent, type AgentInputItem, run, setTracingDisabled } from "@openai/agents-core";
import { assistantMessage, ScriptedModel } from "@openai/agents-core/testing";
import { StoreError } from "@scrollback/store-core";
import { type CommitRequest, createStores, MemoryDriver } from "@scrollback/store-core/driver";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { ScrollbackCompactionSession } from "../src/compaction.ts";
import { ScrollbackSession } from "../src/index.ts";
import { user } from "./items.ts";

setTracingDisabled(true);

const compaction = { type: "compaction", id: "cmp_1", encrypted_content: "secret" } as const;

/** OpenAI's client with local answers. `meanwhile` runs before an answer. */
function openAi(meanwhile: () => Promise<unknown> = async () => undefined) {
  const requests: Record<string, unknown>[] = [];
  const client = new OpenAI({
    apiKey: "none",
    fetch: async (url, init) => {
      expect(String(url)).toMatch(/\/responses\/compact$/);
      requests.push(JSON.parse(String(init?.body)));
      await meanwhile();
      const usage = { input_tokens: 50, output_tokens: 5, total_tokens: 55 };
      return Response.json({ id: "r", object: "response.compaction", output: [compaction], usage });
    },
  });
  return { client, requests };
}

/** Stores that record their commits, with the number of messages in the thread after each. */
function watchedStores() {
  const driver = new MemoryDriver();
  const commits: (Pick<CommitRequest, "drop"> & { readonly added: number; readonly left: number })[] = [];
  const commit = driver.commit.bind(driver);
  driver.commit = async (request) => {
    const outcome = await commit(request);
    const nothing = { limit: 0, before: undefined, after: undefined, metadata: false, signal: undefined };
    const { count } = await driver.read({ threadId: request.threadId, ...nothing });
    commits.push({ drop: request.drop, added: request.append.length, left: count });
    return outcome;
  };
  return { stores: createStores(driver), driver, commits };
}

const whenThree = ({ sessionItems }: { sessionItems: AgentInputItem[] }) => sessionItems.length >= 3;

function guide() {
  const model = new ScriptedModel([
    [assistantMessage("one")],
    [assistantMessage("two")],
    [assistantMessage("three")],
  ]);
  return { agent: new Agent({ name: "guide", model }), model };
}

test("a run compacts a long history in one commit, and the next one reads the compacted history", async () => {
  const { stores, commits } = watchedStores();
  const { client, requests } = openAi();
  const options = {
    stores,
    sessionId: "s",
    client,
    compactionMode: "input",
    shouldTriggerCompaction: whenThree,
  } as const;
  const { agent, model } = guide();
  await run(agent, "1", { session: new ScrollbackCompactionSession(options) });
  expect(requests).toHaveLength(0);
  const second = await run(agent, "2", { session: new ScrollbackCompactionSession(options) });
  expect(requests).toHaveLength(1);
  expect(requests[0]?.input).toHaveLength(4);
  expect(second.state.usage).toMatchObject({ requests: 2, totalTokens: 55 });
  expect(await new ScrollbackSession({ stores, sessionId: "s" }).getItems()).toEqual([compaction]);
  expect(commits.filter(({ drop }) => drop === "all")).toEqual([{ drop: "all", added: 1, left: 1 }]);
  expect(commits.filter(({ left }) => left === 0)).toEqual([]);
  await run(agent, "3", { session: new ScrollbackCompactionSession(options) });
  expect(model.lastCall?.request.input).toEqual([compaction, expect.objectContaining({ role: "user" })]);
});

test("items added by another process during compaction are kept, with the whole history", async () => {
  const { stores } = watchedStores();
  const other = new ScrollbackSession({ stores, sessionId: "s" });
  const { client, requests } = openAi(() => other.addItems([user("from elsewhere")]));
  const options = {
    stores,
    sessionId: "s",
    client,
    compactionMode: "input",
    shouldTriggerCompaction: () => true,
  } as const;
  const { agent } = guide();
  const { state } = await run(agent, "1", { session: new ScrollbackCompactionSession(options) });
  expect(requests).toHaveLength(1);
  expect(state.usage).toMatchObject({ requests: 2, totalTokens: 55 });
  expect(await other.getItems()).toHaveLength(3);
  const byHand = new ScrollbackCompactionSession(options).runCompaction({ force: true });
  await expect(byHand).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await other.getItems()).toHaveLength(4);
});

test("a run with concurrent writers does not compact: its model did not receive the whole history", async () => {
  const { stores } = watchedStores();
  const other = new ScrollbackSession({ stores, sessionId: "s" });
  const { client, requests } = openAi();
  const session = new ScrollbackCompactionSession({
    stores,
    sessionId: "s",
    client,
    shouldTriggerCompaction: () => true,
  });
  const { items, ownership } = await session.getItemsWithCompactionOwnership();
  expect(items).toEqual([]);
  await other.addItems([user("from elsewhere")]);
  await session.addItemsWithCompactionOwnership([user("1")], ownership);
  expect(await other.getItems()).toEqual([user("from elsewhere"), user("1")]);
  const exchange = { items: await other.getItems(), responseId: "r" };
  expect(await session.runCompaction({}, undefined, ownership, exchange)).toBeNull();
  expect(await session.runCompaction({}, undefined, null, exchange)).toBeNull();
  expect(requests).toHaveLength(0);
  const fresh = await session.getItemsWithCompactionOwnership();
  expect(await session.runCompaction({}, undefined, fresh.ownership, exchange)).toMatchObject({
    usage: { totalTokens: 55 },
  });
  // After a compaction, the receipt of the caller covers the compacted items.
  const compacted = { items: [compaction], responseId: "r2" };
  expect(await session.runCompaction({}, undefined, fresh.ownership, compacted)).not.toBeNull();
  await session.addItemsWithCompactionOwnership([user("2")], fresh.ownership);
  expect(await other.getItems()).toEqual([compaction, user("2")]);
});

test("a failed append discards the response id for compaction", async () => {
  const { stores, driver } = watchedStores();
  const { client, requests } = openAi();
  const session = new ScrollbackCompactionSession({ stores, client, shouldTriggerCompaction: () => true });
  const { ownership } = await session.getItemsWithCompactionOwnership();
  const { commit } = driver;
  driver.commit = async () => {
    throw new StoreError("UNAVAILABLE", "no backend");
  };
  await expect(session.addItemsWithCompactionOwnership([user("1")], ownership)).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
  driver.commit = commit;
  await session.addItemsWithCompactionOwnership([user("1")], ownership);
  expect(await session.runCompaction({}, undefined, ownership, { items: [user("1")] })).toBeNull();
  expect(requests).toHaveLength(0);
});

test("explicit compaction uses a response id only while the history is unchanged", async () => {
  const { stores } = watchedStores();
  const { client, requests } = openAi();
  const session = new ScrollbackCompactionSession({
    stores,
    sessionId: "s",
    client,
    shouldTriggerCompaction: () => false,
  });
  await session.addItems([user("1")]);
  expect(await session.runCompaction({ responseId: "resp_1" })).toBeNull();
  await session.runCompaction({ force: true });
  expect(requests.at(-1)).toMatchObject({ previous_response_id: "resp_1" });
  await session.addItems([user("2")]);
  await session.runCompaction({ responseId: "resp_2" });
  await new ScrollbackSession({ stores, sessionId: "s" }).addItems([user("3")]);
  await session.runCompaction({ force: true });
  expect(requests.at(-1)).not.toHaveProperty("previous_response_id");
  expect(requests.at(-1)?.input).toHaveLength(3);
});

test("invalid options are refused before any I/O", () => {
  const { stores } = watchedStores();
  const { client } = openAi();
  const valid = { stores, client, model: "gpt-5.6" };
  for (const options of [
    undefined,
    null,
    { client },
    { ...valid, sessionId: null },
    { ...valid, sessionID: "ada" },
    { ...valid, compactionTreshold: 4 },
    { ...valid, underlyingSession: new ScrollbackSession({ stores }) },
    { ...valid, maxRollbackItems: 4 },
    { ...valid, client: 5 },
    { ...valid, compactionMode: "some" },
    { ...valid, shouldTriggerCompaction: true },
  ]) {
    const problem = expect.objectContaining({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(/^ScrollbackCompactionSession: /),
    });
    expect(
      () => new ScrollbackCompactionSession(options as never),
      Object.keys(options ?? {}).join(),
    ).toThrow(problem);
  }
});
