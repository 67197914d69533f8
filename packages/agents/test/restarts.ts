import { openStores } from "@scrollback/store-core";
import { beforeAll, describe, expect, test } from "vitest";
import { ChatAgent } from "../src/index.ts";
import type { ThreadState } from "../src/thread/thread-state.ts";
import { lines, scripted, weatherCall } from "./models.ts";
import { AgentProcess, turn } from "./processes.ts";

const firstTurn = [
  "user: How warm is it in Ghent?",
  "assistant: [tool-call]",
  "tool: [tool-result]",
  "assistant: 21 degrees.",
];
const begin = {
  input: "How warm is it in Ghent?",
  answers: [weatherCall("Ghent"), "21 degrees."],
};

/** A conversation across several processes, on one backend. */
export function describeRestarts(backend: string, urlOf: () => string): void {
  let url: string;
  beforeAll(() => {
    url = urlOf();
  });

  // Concurrent, because they mostly wait for their processes, and each has a thread of its own.
  describe(`a conversation over several processes on ${backend}`, { concurrent: true }, () => {
    test("continues in a second and a third process, with nothing lost or duplicated", async () => {
      const first = await turn({ url, ...begin });
      expect(first.stored).toEqual(firstTurn);
      const second = await turn({
        url,
        state: first.state,
        input: "And in Bruges?",
        answers: ["20 degrees."],
      });
      expect(second.asked).toEqual([...firstTurn, "user: And in Bruges?"]);
      const third = await turn({ url, state: second.state, input: "Thanks", answers: ["You're welcome."] });
      expect(third.stored).toEqual([
        ...firstTurn,
        "user: And in Bruges?",
        "assistant: 20 degrees.",
        "user: Thanks",
        "assistant: You're welcome.",
      ]);
      for (const { state } of [first, second, third]) {
        expect((state as ThreadState).storeState).toMatchObject({ type: "scrollback.store", backend });
      }
    });

    if (backend === "memory") return;

    /** The current content of the thread of a state. */
    async function stored(state: unknown): Promise<string[]> {
      await using stores = await openStores(url);
      return lines(await stores.restore((state as ThreadState).storeState).listMessages());
    }

    test("a process killed during a turn has stored its input, and the next one answers it", async () => {
      const { state } = await turn({ url, ...begin });
      const doomed = new AgentProcess({
        url,
        state,
        input: "And in Bruges?",
        answers: [weatherCall("Bruges"), "never said"],
        waitAt: 2,
      });
      await (await doomed.waiting()).kill();
      expect(await stored(state)).toEqual([...firstTurn, "user: And in Bruges?"]);
      const again = await turn({ url, state, input: "And in Bruges?", answers: ["20 degrees."] });
      expect(again.stored).toEqual([...firstTurn, "user: And in Bruges?", "assistant: 20 degrees."]);
    });

    test('with persist "eachStep" complete steps are kept, and the next process continues from them', async () => {
      const { state } = await turn({ url, ...begin });
      const doomed = new AgentProcess({
        url,
        state,
        input: "And in Bruges?",
        answers: [weatherCall("Bruges"), "never said"],
        waitAt: 2,
        persist: "eachStep",
      });
      await (await doomed.waiting()).kill();
      const kept = [...firstTurn, "user: And in Bruges?", "assistant: [tool-call]", "tool: [tool-result]"];
      expect(await stored(state)).toEqual(kept);
      const resumed = await turn({ url, state, input: null, answers: ["20 degrees."] });
      expect(resumed.asked).toEqual(kept);
      expect(resumed.stored).toEqual([...kept, "assistant: 20 degrees."]);
    });

    test("exactly one of two processes with concurrent runs on a thread is answered; the other fails with CONFLICT", async () => {
      const { state } = await turn({ url, ...begin });
      const run = (name: string) =>
        new AgentProcess({ url, state, input: name, answers: [`to ${name}`], waitAt: 1 });
      const first = await run("A").waiting();
      const second = await run("B").waiting();
      first.goOn();
      second.goOn();
      expect(await first.outcome()).toMatchObject({ event: "failed", code: "CONFLICT" });
      expect(await second.outcome()).toMatchObject({ event: "done" });
      expect(await stored(state)).toEqual([...firstTurn, "user: A", "user: B", "assistant: to B"]);
    });

    test('with onConflict "append" both are stored, each answer in one piece', async () => {
      const { state } = await turn({ url, ...begin });
      const run = (name: string) =>
        new AgentProcess({
          url,
          state,
          input: name,
          answers: [weatherCall(name), `to ${name}`],
          waitAt: 1,
          onConflict: "append",
        });
      const both = [await run("A").waiting(), await run("B").waiting()];
      for (const one of both) one.goOn();
      for (const one of both) expect(await one.outcome()).toMatchObject({ event: "done" });
      const answerTo = (name: string) => [
        "assistant: [tool-call]",
        "tool: [tool-result]",
        `assistant: to ${name}`,
      ];
      const after = (await stored(state)).slice(firstTurn.length);
      const order = after.at(-1) === "assistant: to B" ? ["A", "B"] : ["B", "A"];
      expect(after).toEqual(["user: A", "user: B", ...order.flatMap(answerTo)]);
    });

    test("the state does not grow with the history, and contains no text of it and no secret", async () => {
      const first = await turn({ url, ...begin });
      const size = JSON.stringify(first.state).length;
      let state = first.state;
      for (let run = 0; run < 3; run++) {
        ({ state } = await turn({ url, state, input: "x".repeat(5_000), answers: ["y".repeat(5_000)] }));
      }
      expect(JSON.stringify(state)).toHaveLength(size);
      expect(JSON.stringify(state)).not.toMatch(/Ghent|degrees|xxx|yyy|hush/);
      expect(JSON.stringify(state)).not.toContain(new URL(url).host || "no host in this URL");
    });

    test("restoring a thread writes nothing", async () => {
      const { state } = await turn({ url, ...begin });
      await using stores = await openStores(url);
      const store = stores.restore((state as ThreadState).storeState);
      const before = await store.read();
      const agent = new ChatAgent({ model: scripted(), stores });
      const thread = await agent.deserializeThread(state);
      expect(await thread.serialize()).toEqual(state);
      expect(await thread.messageStore?.listMessages()).toEqual(before.entries.map(({ message }) => message));
      expect(await store.read()).toEqual(before);
    });
  });
}
