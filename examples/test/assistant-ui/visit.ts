// The program that the test starts as a browser: node visit.ts <url> <question> [regenerate]. Without a question it prints the
// number of branches of each message that is shown. Prints the listed chats, asks a question in
// the newest chat or in a new one, and prints the displayed messages and the chats again.
import { setTimeout as sleep } from "node:timers/promises";
import type { AssistantRuntime } from "@assistant-ui/core";
import { AssistantRuntimeProvider } from "@assistant-ui/core/react";
import { createElement } from "react";
import { create } from "react-test-renderer";
import { chatsOf } from "../../assistant-ui/adapter.ts";
import { useChats } from "../../assistant-ui/app.ts";

const [url = "", question = "", then = ""] = process.argv.slice(2);
const adapter = chatsOf(url);
let shown: AssistantRuntime | undefined;
function App() {
  const runtime = useChats(adapter);
  shown = runtime;
  const props = { runtime, children: null };
  return createElement(AssistantRuntimeProvider, props);
}
create(createElement(App));

async function until<T>(look: () => T | undefined | false): Promise<T> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await sleep(20);
  }
  throw new Error("nothing was shown within 10 s");
}
const runtime = await until(() => shown);
const threads = () => {
  const { threadIds, threadItems } = runtime.threads.getState();
  return threadIds.map((id) => threadItems[id]?.title);
};
const messages = () =>
  runtime.thread.getState().messages.map(({ content: [part] }) => (part?.type === "text" ? part.text : ""));

await runtime.threads.reload();
const before = threads();
const [newest] = runtime.threads.getState().threadIds;
if (newest !== undefined) await runtime.threads.switchToThread(newest);
await until(() => newest === undefined || messages().length > 0);
const count = messages().length;
const branches = () =>
  messages().map((_, index) => runtime.thread.getMessageByIndex(index).getState().branchCount);
if (question === "") {
  console.log(JSON.stringify(branches()));
  process.exit();
}
runtime.thread.append(question);
await until(() => messages().length === count + 2 && !runtime.thread.getState().isRunning);
await until(() => threads().every((title) => title !== undefined) && threads().length > 0);
if (count > 0) {
  // The first answer.
  await runtime.thread.getMessageByIndex(1).delete();
  await until(() => messages().length === count + 1);
}
const displayed = messages();
if (then === "regenerate") {
  runtime.thread.getMessageByIndex(messages().length - 1).reload();
  await until(() => branches().at(-1) === 2 && !runtime.thread.getState().isRunning);
}
console.log(JSON.stringify({ before, messages: displayed, after: threads() }));
process.exit();
