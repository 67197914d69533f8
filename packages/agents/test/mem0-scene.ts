import { afterEach, beforeEach } from "vitest";
import { ChatAgent, Mem0Memory } from "../src/index.ts";
import type { Mem0MemoryOptions } from "../src/memory/mem0-memory.ts";
import { apiKey, Mem0Server } from "./mem0-server.ts";
import { scripted, weatherTools } from "./models.ts";

/** A server for each test, agents with a memory on it, and their reports. */
export function useMem0() {
  let server: Mem0Server;
  let reported: { error: unknown; source: string }[];
  beforeEach(async () => {
    server = await Mem0Server.start();
    reported = [];
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const memoryOf = (options: Mem0MemoryOptions) =>
    new Mem0Memory({ apiKey, host: server.url, userId: "alice", ...options });
  const agentWith = (memory: Mem0Memory | (() => Mem0Memory), model = scripted(() => "Fine.")) => {
    const agent = new ChatAgent({
      model,
      tools: weatherTools().tools,
      contextProviders: typeof memory === "function" ? () => [memory()] : [memory],
      onError: (error, { source }) => void reported.push({ error, source }),
    });
    return { agent, model };
  };
  return {
    get server() {
      return server;
    },
    get reported() {
      return reported;
    },
    memoryOf,
    agentWith,
  };
}
