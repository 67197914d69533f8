/**
 * An agent that remembers across restarts: run it again and again.
 *
 *   node agents/memory.ts "Hello, my name is Alice"
 *   node agents/memory.ts "What is my name?"
 *   node agents/memory.ts --new "What is my name?"     another conversation; facts about you stay
 *   node agents/memory.ts --store redis://localhost:6379 "Hello"
 *
 * Without a key the model is scripted. With AI_GATEWAY_API_KEY or OPENAI_API_KEY, it is a real one; MODEL names it.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { ChatAgent, StoreMemory } from "@scrollback/agents";
import { openStores } from "@scrollback/store-core";
import { parrot, realModel } from "./model.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "sqlite:chats.db" },
    state: { type: "string", default: "thread.json" },
    new: { type: "boolean", default: false },
  },
});
const input = positionals.join(" ") || "What is my name?";

await using stores = await openStores(values.store, { maxMessages: 200 });
const real = await realModel();
const agent = new ChatAgent({
  model: real ?? parrot,
  instructions: "You are a friendly companion. Answer in one sentence.",
  stores,
  contextProviders: [
    new StoreMemory({
      stores,
      userId: "me",
      extract: real
        ? { model: real }
        : async ({ request }) =>
            request.flatMap(({ content }) => {
              const name = /my name is (\w+)/i.exec(String(content))?.[1];
              return name ? [`The user is named ${name}.`] : [];
            }),
    }),
  ],
});

// The serialised thread contains no messages: they are in the store.
const saved = values.new ? undefined : await readFile(values.state, "utf8").catch(() => undefined);
const thread = saved ? await agent.deserializeThread(JSON.parse(saved)) : agent.getNewThread();

for await (const part of agent.runStream(input, { thread })) {
  if (part.type === "text-delta") process.stdout.write(part.text);
}
console.log();
await writeFile(values.state, JSON.stringify(await thread.serialize()));
