import { ScrollbackSessionStore } from "@scrollback/bridge-genkit";
import { openStores } from "@scrollback/store-core";
import { genkit } from "genkit/beta";

// A chat of a Genkit agent. Run it again: another process continues the session by its id alone.
await using stores = await openStores("sqlite:chats.db");
const store = new ScrollbackSessionStore({ stores });

const ai = genkit({});
// A model that needs no key; give the agent a real one instead.
const model = ai.defineModel({ name: "echo" }, async ({ messages }) => {
  const said = messages.filter(({ role }) => role === "user").map(({ content }) => content[0]?.text);
  return { message: { role: "model", content: [{ text: `You have said: ${said.join(", ")}` }] } };
});
const guide = ai.defineAgent({ name: "guide", model, store });

const sessionId = "ada";
const snapshot = await store.getSnapshot({ sessionId });
const turns = (snapshot?.state?.messages?.length ?? 0) / 2;
const chat = snapshot ? await guide.loadChat({ sessionId }) : guide.chat({ sessionId });
const { text } = await chat.send(["trams", "harbours", "museums"][turns] ?? "goodbye");
console.log(text);
