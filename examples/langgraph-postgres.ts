// A LangGraph agent on PostgreSQL, as a server runs it: DATABASE_URL=postgres://… node langgraph-postgres.ts
import { Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ScrollbackSaver } from "@scrollback/bridge-langgraph";
import { ScrollbackStore } from "@scrollback/bridge-langgraph/store";
import { createPostgresStores } from "@scrollback/store-postgres";
import { Pool } from "pg";

// One pool for the process; your own queries may share it.
const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
await using stores = createPostgresStores({ client: pool });
await stores.setup();
const checkpointer = new ScrollbackSaver({ stores });
await using store = new ScrollbackStore({ stores });

// The node stands for your model: it remembers the question, and asks before it buys.
const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", async ({ messages }, config) => {
    const question = String(messages.at(-1)?.content);
    await config.store?.put([String(config.configurable?.userId)], "last question", { question });
    const isDone = !question.startsWith("Buy") || interrupt(`${question}?`) === "yes";
    return { messages: [{ role: "assistant", content: `${isDone ? "Done" : "Left"}: ${question}` }] };
  })
  .addEdge(START, "answer")
  .compile({ checkpointer, store });

/** The thread's id begins with the person's, so that `erase` finds it. */
const threadOf = (userId: string, conversation: string) => ({
  configurable: { thread_id: `${userId}:${conversation}`, userId },
});
const ask = (content: string) => ({ messages: [{ role: "user", content }] });
const textsOf = ({ messages }: typeof MessagesAnnotation.State) =>
  messages.map(({ text }) => text).join(" | ");

// Two turns. Each may run in another process.
const rome = threadOf("ada", "rome");
await graph.invoke(ask("Find a tram"), rome);
console.log(textsOf(await graph.invoke(ask("Find a hotel"), rome)));

// Time travel: a second branch from the end of the first turn.
for await (const { values, next, config } of graph.getStateHistory(rome)) {
  if (next.length > 0 || values.messages.length !== 2) continue;
  const branch = { configurable: { ...config.configurable, userId: "ada" } };
  console.log(textsOf(await graph.invoke(ask("Find a boat"), branch)));
  break;
}

// A turn that waits for a person, and goes on when the answer comes, perhaps days later.
await graph.invoke(ask("Buy a ticket"), rome);
const { tasks } = await graph.getState(rome);
console.log(tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value)).join());
console.log(textsOf(await graph.invoke(new Command({ resume: "yes" }), rome)));

// Keep only the newest checkpoint.
console.log(`${await checkpointer.prune({ threadId: "ada:rome", keep: 1 })} checkpoints dropped`);

// Delete one thread, and everything of a person.
for (const [userId, conversation] of [
  ["ada", "oslo"],
  ["bob", "rome"],
] as const) {
  await graph.invoke(ask("Find a tram"), threadOf(userId, conversation));
}
await checkpointer.deleteThread("ada:oslo");
await erase("ada");
for (const userId of ["ada", "bob"]) {
  const { values } = await graph.getState(threadOf(userId, "rome"));
  console.log(
    `${userId}: ${values.messages?.length ?? 0} messages, ${(await store.search([userId])).length} items`,
  );
}
await store.flush();
await pool.end();

async function erase(userId: string): Promise<void> {
  const prefix = "langgraph:thread:";
  for await (const { threadId } of stores.iterateThreads({
    prefix: prefix + encodeURIComponent(`${userId}:`),
  })) {
    await checkpointer.deleteThread(decodeURIComponent(threadId.slice(prefix.length)));
  }
  for (let isMore = true; isMore; ) {
    const items = await store.search([userId], { limit: 100 });
    for (const { namespace, key } of items) await store.delete(namespace, key);
    isMore = items.length > 0;
  }
}
