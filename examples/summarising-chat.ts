// A long chat in a store that summarises it: `node examples/summarising-chat.ts [sqlite:chats.db | redis://… | …]`.
// The model is scripted, so the example runs offline. To use a provider's model, change only the model.
import { SummarizingReducer, withReducer } from "@scrollback/reducers";
import { openStores } from "@scrollback/store-core";
import { generateText, type ModelMessage } from "ai";
import { scriptedModel } from "./scripted-model.ts";

const questions = [
  "My name is Alice.",
  "I am allergic to nuts.",
  ...Array.from({ length: 20 }, (_, day) => `What shall we do in Rome on day ${day + 1}?`),
  "What do you know about me?",
];

await using stores = await openStores(process.argv[2] ?? "sqlite::memory:");
const model = scriptedModel();
const reducer = new SummarizingReducer({ model, targetCount: 4, threshold: 4 });
const store = withReducer(stores.open(), reducer, { when: "afterAdd" });

for (const question of questions) {
  await store.addMessages([{ role: "user", content: question }]);
  const messages = (await store.listMessages()) as ModelMessage[];
  const { text } = await generateText({ model, instructions: "You plan trips.", messages });
  await store.addMessages([{ role: "assistant", content: text }]);
}

const kept = await store.listMessages();
for (const { role, content } of kept) console.log(`${role}: ${content}`);
const summaries = model.doGenerateCalls.length - questions.length;
const longest = Math.max(...model.doGenerateCalls.map(({ prompt }) => prompt.length));
console.log(
  `${2 * questions.length} messages were said, ${kept.length} are kept, ${summaries} summaries were written.`,
);
console.log(`The model was never given more than ${longest} messages at once.`);
