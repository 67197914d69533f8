import {
  BaseLlm,
  createEvent,
  FunctionTool,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  Runner,
} from "@google/adk";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { GoogleAdkSessionService } from "../src/index.ts";
import { setting } from "./service-tests.ts";

const key = { appName: "travel", userId: "ada", sessionId: "rome" };

/** Calls the tool when it is asked for a report, and refuses a history with an open call, as providers do. */
class StrictModel extends BaseLlm {
  constructor() {
    super({ model: "strict" });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    for (const [index, { parts = [] }] of contents.entries()) {
      const calls = parts.filter(({ functionCall }) => functionCall).length;
      const results =
        contents[index + 1]?.parts?.filter(({ functionResponse }) => functionResponse).length ?? 0;
      if (calls > 0 && calls !== results) throw new Error("400: a function call has no response");
    }
    const last = contents.at(-1)?.parts?.[0]?.text;
    const part = last === "report" ? { functionCall: { name: "report", args: {} } } : { text: "Fine." };
    yield { content: { role: "model", parts: [part] } };
  }

  override async connect(): Promise<never> {
    throw new Error("it is not live");
  }
}

function open(scope = "") {
  const stores = createMemoryStores();
  const service = () => new GoogleAdkSessionService({ stores });
  const report = new FunctionTool({
    name: "report",
    description: "Makes a report",
    execute: (_input, context) => {
      context?.state.set(`${scope}small`, 1);
      context?.state.set(`${scope}report`, "x".repeat(300_000));
      return { made: true };
    },
  });
  const agent = new LlmAgent({ name: "guide", model: new StrictModel(), tools: [report] });
  const ask = async (text: string) => {
    const runner = new Runner({ appName: key.appName, agent, sessionService: service() });
    const texts: (string | undefined)[] = [];
    for await (const event of runner.runAsync({ ...key, newMessage: { role: "user", parts: [{ text }] } }))
      texts.push(event.errorMessage ?? event.content?.parts?.[0]?.text);
    return texts;
  };
  return { service, ask };
}

test.for(["", "app:", "user:"])(
  "a tool whose state %s is too large fails its turn, and the session goes on",
  async (scope) => {
    const { service, ask } = open(scope);
    await service().createSession(key);
    expect(await ask("Hi")).toEqual(["Fine."]);
    await expect(ask("report")).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: expect.stringMatching(`the largest key is "${scope}report" with 3000\\d\\d bytes`),
    });
    const { state, events = [] } = (await service().getSession(key)) ?? {};
    expect(state).toEqual({});
    expect(events.at(-1)?.content?.parts?.[0]?.functionResponse).toMatchObject({
      name: "report",
      response: { error: expect.stringContaining("not stored") },
    });
    expect(await ask("And now?")).toEqual(["Fine."]);
    expect(await ask("And then?")).toEqual(["Fine."]);
  },
);

test("the call of a long-running tool stays open, and a result that is added is not stored", async () => {
  const { service } = open();
  const session = await service().createSession(key);
  const call = (id: string) => ({ functionCall: { id, name: "report", args: {} } });
  const calls = createEvent({
    author: "guide",
    content: { role: "model", parts: [call("slow"), call("lost"), call("done")] },
    longRunningToolIds: ["slow"],
  });
  const response = { functionResponse: { id: "done", name: "report", response: {} } };
  const result = createEvent({ author: "guide", content: { role: "user", parts: [response] } });
  await service().appendEvent({ session, event: calls });
  await service().appendEvent({ session, event: result });
  const read = await service().getSession(key);
  expect(read?.events.map(({ content }) => content?.parts?.map((part) => part.functionResponse?.id))).toEqual(
    [[undefined, undefined, undefined], ["lost"], ["done"]],
  );
  if (read) await service().appendEvent({ session: read, event: setting({ n: 1 }) });
  const again = await service().getSession(key);
  expect(again?.events.map(({ id }) => id)).toEqual(read?.events.map(({ id }) => id));
  expect(again?.state).toEqual({ n: 1 });
});

test.for(["staleWriter", "usedEventId", "now", "clock"])("the option %s of sessions is refused", (name) => {
  const options = { stores: createMemoryStores(), [name]: "reject" };
  expect(() => new GoogleAdkSessionService(options)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(name) }),
  );
});

test("a state with a cycle, or nested too deeply, is refused, and the session goes on", async () => {
  const sessions = new GoogleAdkSessionService({ stores: createMemoryStores() });
  const session = await sessions.createSession(key);
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  let deep: Record<string, unknown> = {};
  for (let level = 0; level < 5_000; level++) deep = { deep };
  for (const value of [cycle, deep]) {
    const event = createEvent({ author: "user", actions: { stateDelta: { value } } as never });
    await expect(sessions.appendEvent({ session, event })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
  await sessions.appendEvent({ session, event: createEvent({ author: "user" }) });
  expect((await sessions.getSession(key))?.events).toHaveLength(1);
});
