// The program of a chat's process: takes one assignment over IPC, lets the chat speak, tells what it sees, and ends.
import { openStores } from "@scrollback/store-core";
import { AgentGroupChat, RegexTermination } from "../../src/group-chat/index.ts";
import { ChatAgent } from "../../src/index.ts";
import { prompts, scripted, weatherCall, weatherTools } from "../models.ts";
import { listen, told, user } from "./cast.ts";

/** What a process is told. */
export interface Assignment {
  readonly url: string;
  /** The chat's thread; or a chat in memory, which goes on from `state`. */
  readonly threadId?: string;
  readonly state?: unknown;
  /** What users say first. */
  readonly input?: readonly string[];
  readonly turns: number;
  /** Whose model waits, in which of its calls from 1 on, for its end. */
  readonly waitAt?: { readonly agent: string; readonly call: number };
  /** Where it waits: in the model, or in the termination that is asked about that agent. */
  readonly waitIn?: "termination";
}

/** What a process tells. */
export type Report =
  | { readonly event: "waiting" }
  | {
      readonly event: "done";
      /** What was visible, a line a message. */
      readonly lines: readonly string[];
      /** The primary history, and each agent's view of it. */
      readonly history: readonly string[];
      readonly views: readonly (readonly string[])[];
      /** The roles that models were given, call by call, first the instructions. */
      readonly asked: readonly string[];
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
  const stores = await openStores(url);
  const models = ["Ann", "Bob", "Cy"].map((name) => {
    let calls = 0;
    const model = scripted(async ({ prompt }) => {
      calls += 1;
      if (waitIn === undefined && waitAt?.agent === name && waitAt.call === calls) await wait();
      // Bob looks at the weather before he speaks.
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
    ...(threadId !== undefined && { store: stores.open(threadId) }),
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
    asked: models.flatMap(({ model }) => prompts(model).map((prompt) => String(prompt[0]?.content))),
    isComplete: chat.isComplete,
    state: await chat.serialize(),
  };
}

// Without the process that started it a chat has nothing to do.
process.once("disconnect", () => process.exit());
process.once("message", async (assignment: Assignment) => {
  const end = await work(assignment).catch(
    (error): Report => ({ event: "failed", code: error.code, message: String(error) }),
  );
  // Ends like a process that is stopped: nothing is closed.
  process.send?.(end, () => process.exit());
});
