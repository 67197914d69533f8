/**
 * A custom store that implements only the protocol's four methods: a file of JSON lines.
 *
 *   node agents/own-store.ts
 */
import { appendFile, readFile } from "node:fs/promises";
import { ChatAgent, type ThreadStore } from "@scrollback/agents";
import type { ChatMessage } from "@scrollback/store-core";
import { parrot } from "./model.ts";

class FileStore implements ThreadStore {
  #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async addMessages(messages: readonly ChatMessage[]) {
    await appendFile(this.#file, messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  }

  async listMessages(): Promise<ChatMessage[]> {
    const text = await readFile(this.#file, "utf8").catch((error) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  async serialize() {
    return { file: this.#file };
  }

  async updateFromState(state: unknown) {
    this.#file = (state as { file: string }).file;
  }
}

const agent = new ChatAgent({
  model: parrot,
  // Called without an argument for a new thread, and with the result of serialize() for a restored one.
  stores: async (saved) => {
    const store = new FileStore("conversation.jsonl");
    if (saved) await store.updateFromState(saved);
    return store;
  },
});

const thread = agent.getNewThread();
await agent.run("Hello, my name is Alice", { thread });
const state = JSON.stringify(await thread.serialize());

const resumed = await agent.deserializeThread(JSON.parse(state));
console.log((await agent.run("What is my name?", { thread: resumed })).text);
console.log(`${(await resumed.messageStore?.listMessages())?.length} messages in the file`);
