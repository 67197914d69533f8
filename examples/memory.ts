/**
 * An agent that remembers its user in each thread: run it again, and another process knows the name in a new thread.
 *
 *   node memory.ts "Hello, my name is Alice"
 *   node memory.ts "What is my name?"
 */
import { ChatAgent, StoreMemory } from "@scrollback/agents";
import { openStores } from "@scrollback/store-core";
import { scriptedModel } from "./scripted-model.ts";

const nameIn = (text: string) => /(?:name is|named) (\w+)/i.exec(text)?.[1];
// A model that needs no key; give the agent a real one instead.
const model = scriptedModel((texts) => {
  const name = texts.map(nameIn).findLast((found) => found !== undefined);
  return name ? `Your name is ${name}.` : "I do not know your name.";
});

await using stores = await openStores("sqlite:chats.db", { maxMessages: 200 });
const memory = new StoreMemory({
  stores,
  userId: "me",
  // Or { model }: then the model finds the facts.
  extract: async ({ request }) => {
    const name = request.map(({ content }) => nameIn(String(content))).find(Boolean);
    return name ? [`The user is named ${name}.`] : [];
  },
});
const agent = new ChatAgent({ model, stores, contextProviders: [memory] });
const thread = agent.getNewThread();
console.log((await agent.run(process.argv[2] ?? "What is my name?", { thread })).text);
