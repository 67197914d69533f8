/**
 * `node test/golden/make.ts` writes the serialised states of threads and group chats in the current format. It runs once per
 * version of the format, and never overwrites a file, because users have stored states like it.
 */
import { writeFileSync } from "node:fs";
import { AgentGroupChat } from "../../src/group-chat/index.ts";
import { ChatAgent, openaiResponses } from "../../src/index.ts";
import { scripted, weatherCall, weatherTools } from "../models.ts";
import { counter, pair } from "./cast.ts";

const write = (file: string, content: unknown) =>
  writeFileSync(new URL(file, import.meta.url), `${JSON.stringify(content, null, 2)}\n`, { flag: "wx" });

const agent = new ChatAgent({
  model: scripted(weatherCall("Ghent"), "It is 21 degrees.", "Bruges is a little colder."),
  tools: weatherTools().tools,
  contextProviders: () => [counter()],
  persistPartial: true,
});
const thread = agent.getNewThread();
await agent.run("How warm is Ghent?", { thread });
for await (const part of agent.runStream("And Bruges?", { thread })) if (part.type === "text-delta") break;
const service = new ChatAgent({ model: scripted(), serviceThread: openaiResponses });
write("thread-1.json", {
  thread: await thread.serialize(),
  service: await service.getNewThread({ serviceThreadId: "resp_1" }).serialize(),
});

const chat = new AgentGroupChat({ agents: pair("A 1", "B 1"), maximumIterations: 2 });
await chat.addMessages([{ role: "user", content: "Hi" }]);
for await (const _ of chat.invoke()) {
}
write("group-chat-1.json", { chat: await chat.serialize() });
