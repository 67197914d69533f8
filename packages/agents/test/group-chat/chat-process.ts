// The program of a chat's process: receives one assignment over IPC, invokes the chat, reports the result, and ends.
import { openTestStores } from "../../../../conformance-tests/test/fixtures/test-stores.ts";
import { AgentGroupChat, RegexTermination } from "../../src/group-chat/index.ts";
import { ChatAgent } from "../../src/index.ts";
import { scripted, weatherCall, weatherTools } from "../models.ts";
import { listen, told, user } from "./cast.ts";

/** The assignment of a process. */
export interface Assignment {
  readonly url: string;
  readonly threadId: string;
  readonly state?: unknown;
  /** The users' messages, added first. */
  readonly input?: readonly string[];
  readonly turns: number;
  /** The agent whose model waits for the kill, and the number of the model call (first: 1). */
  readonly waitAt?: { readonly agent: string; readonly call: number };
  /** The place of the wait: in the model, or in the termination check of that agent. */
  readonly waitIn?: "termination";
}

/** The report of a process. */
export type Report =
  | { readonly event: "waiting" }
  | {
      readonly event: "done";
      /** The visible messages, one line each. */
      readonly lines: readonly string[];
      /** The primary history, and each agent's view of it. */
      readonly history: readonly string[];
      readonly views: readonly (readonly string[])[];
      readonly isComplete: boolean;
      readonly state: unknown;
    }
  | { readonly event: "failed"; readonly code: unknown; readonly message: string };

const report = (message: Report) => process.send?.(message);

async function wait(): Promise<never> {
  report({ event: "waiting" });
  return await new Promise<never>(() => {});
}

async function work(assignment: Assignment): Promise<Report> {
  const { url, threadId, state, input = [], turns, waitAt, waitIn } = assignment;
  const stores = await openTestStores(url);
  const models = ["Ann", "Bob", "Cy"].map((name) => {
    let calls = 0;
    const model = scripted(async ({ prompt }) => {
      calls += 1;
      if (waitIn === undefined && waitAt?.agent === name && waitAt.call === calls) await wait();
      // Bob calls the weather tool before he answers.
      if (name === "Bob" && prompt.at(-1)?.role !== "tool") return weatherCall("Ghent", crypto.randomUUID());
      const own = prompt.filter(
        ({ role, content }) =>
          role === "assistant" && Array.isArray(content) && content.some(({ type }) => type === "text"),
      );
      return `${name} ${own.length + 1}`;
    });
    return { name, model };
  });
  const agents = models.map(
    ({ name, model }) =>
      new ChatAgent({ id: name, name, model, instructions: `You are ${name}.`, tools: weatherTools().tools }),
  );
  const last = new RegexTermination("Cy 2");
  const chat = new AgentGroupChat({
    agents,
    maximumIterations: turns,
    termination: async (agent, history) => {
      if (waitIn === "termination" && agent.name === waitAt?.agent) await wait();
      return await last.shouldTerminate(agent, history);
    },
    store: stores.open(threadId),
  });
  if (state !== undefined) await chat.restore(state);
  if (input.length > 0) await chat.addMessages(input.map(user));
  const lines = turns > 0 ? await listen(chat.invoke()) : [];
  const views: string[][] = [];
  for (const agent of agents) views.push(await told(chat, agent));
  return {
    event: "done",
    lines,
    history: await told(chat),
    views,
    isComplete: chat.isComplete,
    state: await chat.serialize(),
  };
}

// Without its parent process the chat has no work.
process.once("disconnect", () => process.exit());
process.once("message", async (assignment: Assignment) => {
  const end = await work(assignment).catch(
    (error): Report => ({ event: "failed", code: error.code, message: String(error) }),
  );
  // Ends like a stopped process: closes nothing.
  process.send?.(end, () => process.exit());
});
