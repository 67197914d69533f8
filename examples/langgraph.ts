import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { ScrollbackSaver } from "@scrollback/bridge-langgraph";
import { openStores } from "@scrollback/store-core";

// A graph that asks for an approval. Run it twice: the first process asks and ends, the second one answers and continues.
await using stores = await openStores(process.argv[2] ?? "sqlite:checkpoints.db");
await using checkpointer = new ScrollbackSaver({ stores });

const State = Annotation.Root({
  to: Annotation<string>,
  log: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
});
const graph = new StateGraph(State)
  .addNode("find", ({ to }) => ({ log: [`found a ticket to ${to}`] }))
  .addNode("approve", () => ({ log: [`approved: ${interrupt("Buy it?")}`] }))
  .addNode("buy", ({ log }) => ({ log: log.at(-1) === "approved: yes" ? ["bought"] : ["left it"] }))
  .addEdge(START, "find")
  .addEdge("find", "approve")
  .addEdge("approve", "buy")
  .addEdge("buy", END)
  .compile({ checkpointer });
const ada = { configurable: { thread_id: "ada" } };

const { next } = await graph.getState(ada);
if (!next.includes("approve")) {
  await graph.invoke({ to: "the harbour" }, ada);
  const { tasks } = await graph.getState(ada);
  console.log(`waiting: ${tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value)).join()}`);
} else {
  const asked = (await graph.getState(ada)).config;
  const { log } = await graph.invoke(new Command({ resume: "yes" }), ada);
  console.log(log.join(", "));
  // A fork: back to the question, with another destination and another answer. The store keeps both branches.
  const fork = await graph.updateState(asked, { to: "the hills", log: ["went back"] }, "find");
  const other = await graph.invoke(new Command({ resume: "no" }), fork);
  console.log(other.log.join(", "));
  for await (const { values, next } of graph.getStateHistory(ada)) {
    if (next.length === 0) console.log(`an end: ${values.log.at(-1)}, to ${values.to}`);
  }
}
