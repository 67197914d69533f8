/**
 * A writer and a reviewer work on a slogan until it is approved. Together they are the studio, one agent of another chat.
 * Both chats are stored: run it again with another wish, and it continues.
 *
 *   node agents/group-chat.ts "A slogan for the bicycle"
 */
import { ChatAgent } from "@scrollback/agents";
import { AgentGroupChat, AggregatorAgent, RegexTermination } from "@scrollback/agents/group-chat";
import { openStores } from "@scrollback/store-core";
import { scriptedModel } from "../scripted-model.ts";

const content = process.argv[2] ?? "A slogan for the bicycle";
await using stores = await openStores("sqlite:chats.db");

/** An agent whose model is a script that answers the last message; give it a real model and `instructions` instead. */
const agent = (name: string, answer: (last: string, all: string[]) => string) =>
  new ChatAgent({ id: name, name, model: scriptedModel((texts) => answer(texts.at(-1) ?? "", texts)) });

const writer = agent("Writer", (last, all) => {
  const topic = all.map((text) => /for (the .+)/i.exec(text)?.[1]).findLast(Boolean) ?? "the world";
  return last.startsWith("Reviewer:")
    ? `${topic}. Just go.`
    : `Nobody ever needed anything as much as ${topic}.`;
});
const reviewer = agent("Reviewer", (last) =>
  last.endsWith("Just go.")
    ? `APPROVED: "${last.replace("Writer: ", "")}"`
    : "Too long, and nobody believes it.",
);
const studioChat = new AgentGroupChat({
  agents: [writer, reviewer],
  termination: new RegexTermination(/\bAPPROVED\b/, { agents: [reviewer] }),
  maximumIterations: 8,
  // An approval ends one wish, not the studio.
  automaticReset: true,
  store: stores.open("studio"),
});

const studio = new AggregatorAgent({ id: "Studio", name: "Studio", mode: "nested", chat: studioChat });
const publisher = agent("Publisher", (last) => `Published: ${/"(.*)"/.exec(last)?.[1] ?? "nothing yet"}`);
const campaign = new AgentGroupChat({
  agents: [studio, publisher],
  termination: new RegexTermination(/^Published/, { agents: [publisher] }),
  automaticReset: true,
  store: stores.open("campaign"),
});

await campaign.addMessages([{ role: "user", content }]);
for await (const { authorName, content } of campaign.invoke()) {
  const parts = typeof content === "string" ? [] : content;
  console.log(`${authorName}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`);
}
// Waits until the studio has received the messages that followed its own.
await campaign.getMessages(studio);
console.log(`inside: ${(await studioChat.getMessages()).length} messages`);
