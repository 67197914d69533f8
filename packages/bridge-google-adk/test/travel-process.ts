// A program for tests with several processes: node travel-process.ts <url> <text>. Sends the text to the agent, and prints
// one line of JSON with the output and the model's prompts.
import { Runner } from "@google/adk";
import { openStores } from "@scrollback/store-core";
import { GoogleAdkSessionService } from "../src/index.ts";
import { travelAgent } from "./travel-agent.ts";

const [url = "", text = ""] = process.argv.slice(2);
const key = { appName: "travel", userId: "ada", sessionId: "rome" };
await using stores = await openStores(url);
await using sessionService = new GoogleAdkSessionService({ stores });
const { agent, model } = travelAgent();
const runner = new Runner({ appName: key.appName, agent, sessionService });
await sessionService.getOrCreateSession(key);
const answers: string[] = [];
for await (const event of runner.runAsync({ ...key, newMessage: { role: "user", parts: [{ text }] } })) {
  const part = event.content?.parts?.[0];
  if (part?.text && !event.partial) answers.push(part.text);
}
const session = await sessionService.getSession(key);
const authors = session?.events.map(({ author }) => author);
console.log(JSON.stringify({ answers, read: model.read, authors, state: session?.state }));
