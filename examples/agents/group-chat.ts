/**
 * A writer and a reviewer work on a slogan until it is approved. Together they are the studio, one agent of another chat.
 * Both chats are stored: run it again with another wish, or without one to print the stored messages.
 *
 *   node agents/group-chat.ts "A slogan for the bicycle"
 *   node agents/group-chat.ts
 *   node agents/group-chat.ts --store redis://localhost:6379 "A slogan for the kettle"
 *
 * Without a key the models are scripted. With AI_GATEWAY_API_KEY or OPENAI_API_KEY, they are a real model; MODEL names it.
 */
import { parseArgs } from "node:util";
import { ChatAgent } from "@scrollback/agents";
import {
  type AgentChat,
  AgentGroupChat,
  AggregatorAgent,
  RegexTermination,
} from "@scrollback/agents/group-chat";
import { type ChatMessage, openStores } from "@scrollback/store-core";
import { realModel, scriptedModel, textsOf } from "./model.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { store: { type: "string", default: "sqlite:chats.db" } },
});
const wish = positionals.join(" ");

await using stores = await openStores(values.store);
const real = await realModel();

/** An agent whose script answers the last message. */
function agent(
  name: string,
  instructions: string,
  answer: (last: string, all: string[]) => string,
): ChatAgent {
  const script = scriptedModel((prompt) => answer(textsOf(prompt).at(-1) ?? "", textsOf(prompt)));
  return new ChatAgent({ id: name, name, instructions, model: real ?? script });
}

const writer = agent(
  "Writer",
  "You write slogans. Answer with one slogan, better each time.",
  (last, all) => {
    const topic = all.map((text) => /for (the .+)/i.exec(text)?.[1]).findLast(Boolean) ?? "the world";
    return last.startsWith("Reviewer:")
      ? `${topic.replace("the", "The")}. Just go.`
      : `Nobody ever needed anything as much as ${topic} of today.`;
  },
);
const reviewer = agent(
  "Reviewer",
  'You judge slogans: short, true, no clichés. When one is good, answer: APPROVED: "the slogan". Else say what to change.',
  (last) => {
    const slogan = last.replace("Writer: ", "");
    return slogan.length > 40
      ? "Too long, and nobody believes it. Three words more than its name."
      : `APPROVED: "${slogan}"`;
  },
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
const publisher = agent(
  "Publisher",
  "You publish approved slogans. Answer: Published: the slogan.",
  (last) => {
    return `Published: ${/"(.*)"/.exec(last)?.[1] ?? "nothing yet"}`;
  },
);
const campaign = new AgentGroupChat({
  agents: [studio, publisher],
  termination: new RegexTermination(/^Published/, { agents: [publisher] }),
  automaticReset: true,
  store: stores.open("campaign"),
});

function print({ authorName = "you", content }: ChatMessage): void {
  const text =
    typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
  console.log(`${authorName.padEnd(10)} ${text}`);
}

async function printAll(title: string, chat: AgentChat): Promise<void> {
  console.log(`── ${title} ${"─".repeat(60 - title.length)}`);
  for (const message of (await chat.getMessages()).reverse()) print(message);
}

if (wish) {
  const message: ChatMessage = { role: "user", content: wish };
  await campaign.addMessages([message]);
  print(message);
  for await (const message of campaign.invoke()) print(message);
  // Waits until the studio has received the messages that followed its own.
  await campaign.getMessages(studio);
} else {
  await printAll("campaign", campaign);
  await printAll("inside Studio", studioChat);
}
