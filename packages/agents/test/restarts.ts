import { beforeAll, describe, expect, test } from "vitest";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import type { ThreadState } from "../src/thread/thread-state.ts";
import { lines, weatherCall } from "./models.ts";
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

/** A conversation across several processes. `newUrl` returns the URL of new, empty stores. */
export function declareRestarts(backend: string, newUrl: () => Promise<string>): void {
  let url: string;
  beforeAll(async () => {
    url = await newUrl();
    await using stores = await openTestStores(url);
    await stores.setup();
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
    });

    /** The current content of the thread of a state. */
    async function stored(state: unknown): Promise<string[]> {
      await using stores = await openTestStores(url);
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
  });
}
