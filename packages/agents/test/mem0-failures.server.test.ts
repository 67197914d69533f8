import { MemoryClient } from "mem0ai";
import { describe, expect, test, vi } from "vitest";
import { Mem0Memory } from "../src/index.ts";
import { useMem0 } from "./mem0-scene.ts";
import { apiKey, Mem0Server } from "./mem0-server.ts";
import { failureOf, scripted } from "./models.ts";

// Turns off the client's telemetry. The client reads the variable when it is loaded.
vi.hoisted(() => {
  process.env.MEM0_TELEMETRY = "false";
});

const mem0 = useMem0();
const { memoryOf, agentWith } = mem0;

describe("a failure", () => {
  test.each([
    [500, true],
    [429, true],
    [401, false],
  ])("with HTTP %i is reported, fails no run, and shows no key and no text", async (status, retryable) => {
    mem0.server.failWith = status;
    const { agent } = agentWith(memoryOf({}));
    expect((await agent.run("my very private words")).text).toBe("Fine.");
    expect(mem0.reported.map(({ source }) => source)).toEqual([
      "contextProviders[0].invoking",
      "contextProviders[0].invoked",
    ]);
    for (const { error } of mem0.reported) {
      expect(error).toMatchObject({
        code: "UNAVAILABLE",
        retryable,
        message: expect.stringContaining(`HTTP ${status}`),
      });
      const whole = `${(error as Error).stack} ${JSON.stringify(error)} ${String((error as Error).cause)}`;
      expect(whole).not.toMatch(/private|secret/);
    }
  });

  test("of the network is reported and fails no run", async () => {
    const quiet = [vi.spyOn(console, "error"), vi.spyOn(console, "warn")];
    for (const spy of quiet) spy.mockImplementation(() => {});
    const gone = await Mem0Server.start();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const { agent } = agentWith(new Mem0Memory({ apiKey, host: url, userId: "u" }));
    expect((await agent.run("Hi")).text).toBe("Fine.");
    expect(mem0.reported).toMatchObject([
      { error: { code: "UNAVAILABLE", retryable: true } },
      { error: { code: "UNAVAILABLE", retryable: true } },
    ]);
    for (const spy of quiet) spy.mockRestore();
  });

  test('of a search fails the run with onFailure "throw"; one of a save is still reported', async () => {
    const { agent, model } = agentWith(memoryOf({ onFailure: "throw" }));
    mem0.server.failWith = 503;
    expect(await failureOf(agent.run("Hi"))).toMatchObject({ code: "UNAVAILABLE" });
    expect(model.doGenerateCalls).toHaveLength(0);
    const { agent: other } = agentWith(
      memoryOf({ onFailure: "throw" }),
      scripted(() => {
        mem0.server.failWith = 503;
        return "Fine.";
      }),
    );
    mem0.server.failWith = undefined;
    expect((await other.run("Hi")).text).toBe("Fine.");
    expect(mem0.reported).toMatchObject([{ source: "contextProviders[0].invoked" }]);
  });
});

describe("the client", () => {
  test("can be the caller's, which is never closed", async () => {
    const close = vi.fn();
    const client = Object.assign(new MemoryClient({ apiKey, host: mem0.server.url }), { close });
    const memory = new Mem0Memory({ client, userId: "alice" });
    const { agent } = agentWith(memory);
    await agent.run("I like tea.");
    expect(mem0.server.added).toHaveLength(1);
    await agent.close();
    expect(close).not.toHaveBeenCalled();
    expect(await client.search("tea", { filters: { AND: [{ user_id: "alice" }] } })).toHaveProperty(
      "results",
    );
  });

  test("that Mem0Memory created is released by close, and not created again", async () => {
    const memory = memoryOf({});
    const { agent } = agentWith(memory);
    await agent.run("I like tea.");
    await agent.close();
    await agent.close();
    await agent.run("I like coffee.");
    expect(mem0.server.added).toHaveLength(1);
    expect(mem0.reported).toMatchObject([{ error: { code: "CLOSED" } }, { error: { code: "CLOSED" } }]);
  });

  test("a foreign state is rejected", async () => {
    const memory = memoryOf({ scopeToThread: true });
    await memory.updateFromState(null);
    await memory.updateFromState({});
    expect(await memory.serialize()).toEqual({});
    expect(await failureOf(memory.updateFromState({ threadId: 5 }))).toMatchObject({ code: "INVALID_STATE" });
  });
});
