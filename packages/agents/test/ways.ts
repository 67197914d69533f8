import type { ChatAgent } from "../src/index.ts";

/** Both ways to run an agent; they have the same result. */
export const ways = {
  run: (agent: ChatAgent, ...args: Parameters<ChatAgent["run"]>) => agent.run(...args),
  runStream: async (agent: ChatAgent, ...args: Parameters<ChatAgent["run"]>) => {
    for await (const _ of agent.runStream(...args)) {
    }
  },
};
