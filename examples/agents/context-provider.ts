/**
 * A custom context provider. It asks for a name until it knows one, and keeps the name in the thread's state.
 *
 *   node agents/context-provider.ts
 */
import { ChatAgent, type ContextProvider } from "@scrollback/agents";
import type { ChatMessage } from "@scrollback/store-core";
import { scriptedModel, textsOf } from "./model.ts";

class UserName implements ContextProvider {
  #name: string | undefined;

  async invoking(messages: readonly ChatMessage[]) {
    for (const { content } of messages) this.#name ??= /I am (\w+)/.exec(String(content))?.[1];
    return {
      instructions: this.#name
        ? `The user's name is ${this.#name}. Use it.`
        : "Ask for the user's name, and answer nothing else.",
    };
  }

  async serialize() {
    return { name: this.#name };
  }

  async updateFromState(state: unknown) {
    this.#name = (state as { name?: string }).name;
  }
}

// Follows the instructions, which are the first text of the prompt.
const model = scriptedModel((prompt) => {
  const name = /name is (\w+)/.exec(textsOf(prompt)[0] ?? "")?.[1];
  return name ? `It is four, ${name}.` : "What is your name?";
});

// The function creates one provider per thread, so names of different threads do not mix.
const agent = new ChatAgent({ model, contextProviders: () => [new UserName()] });
const thread = agent.getNewThread();
for (const input of ["What is two and two?", "I am Alice"]) {
  console.log(`user: ${input}`);
  console.log(`agent: ${(await agent.run(input, { thread })).text}`);
}

const state = JSON.stringify(await thread.serialize());
const resumed = await agent.deserializeThread(JSON.parse(state));
console.log(`restored: ${(await agent.run("And again?", { thread: resumed })).text}`);
console.log(`another thread: ${(await agent.run("And you?", { thread: agent.getNewThread() })).text}`);
