/**
 * `node scripts/calls.ts` prints how many of our functions, in how many files, one warm call runs: `addMessages`, `append` of a chat, and a POST
 * to the web handler, on SQLite in memory. It reads the build. `--names` lists them.
 */
import { Session } from "node:inspector/promises";
import { createChatHandler, uiMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import { createSqliteStores } from "@scrollback/store-sqlite";
import type { UIMessage } from "ai";
import { scriptedModel } from "../packages/bridge-ai-sdk/test/scripted-model.ts";

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** Prepares a call. */
type Prepare = () => Promise<() => Promise<unknown>>;

/** The functions that the second of two calls runs, as `file function`. */
async function functionsOf(prepare: Prepare): Promise<string[]> {
  await (await prepare())();
  const call = await prepare();
  await session.post("Profiler.takePreciseCoverage");
  await call();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result.flatMap(({ url, functions }) => {
    const file = /\/packages\/(.*\/dist\/.*\.js)$/.exec(url)?.[1];
    if (file === undefined) return [];
    const called = functions.filter(
      ({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0,
    );
    return called.map(({ functionName }) => `${file} ${functionName}`);
  });
}

await using stores = createSqliteStores({ url: "sqlite::memory:" });
await stores.setup();
const store = stores.open("thread");
await using chats = new ChatStore<UIMessage>({ stores, ...uiMessages() });
const mine = chats.of("ada");
const { id } = await mine.create({ id: "chat", title: "Rome" });
const handler = createChatHandler({ chats, model: scriptedModel() });
const user = (text: string): UIMessage => ({
  id: crypto.randomUUID(),
  role: "user",
  parts: [{ type: "text", text }],
});

const calls: Record<string, Prepare> = {
  addMessages: async () => () => store.addMessages([{ role: "user", content: "Hello" }]),
  "chats.append": async () => () => mine.append(id, [user("Hello")]),
  "a POST of a chat": async () => {
    const parentId = (await mine.read("web"))?.entries.at(-1)?.message.id ?? null;
    const body = JSON.stringify({ id: "web", message: user("say hello"), parentId });
    const headers = { "content-type": "application/json" };
    const request = new Request("http://localhost/api/chat", { method: "POST", headers, body });
    return async () => {
      const response = await handler.fetch(request, { owner: "ada" });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
    };
  },
};
for (const [name, call] of Object.entries(calls)) {
  const functions = await functionsOf(call);
  const files = new Set(functions.map((one) => one.split(" ")[0]));
  console.log(`${name}: ${functions.length} functions in ${files.size} files`);
  if (process.argv.includes("--names")) for (const one of functions) console.log(`  ${one}`);
}
