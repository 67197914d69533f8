import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  interrupt,
  MessagesAnnotation,
  REMOVE_ALL_MESSAGES,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { byNamespace, collect, withNamedIds } from "./story.ts";

const config = { configurable: { thread_id: "t" } };

/** What the nodes do in one turn. */
interface Turn {
  readonly say: string;
  /** The message to replace or to remove, by its place. */
  readonly replace: number | undefined;
  readonly remove: number | undefined;
  readonly clear: boolean;
  /** The number of messages that stay. */
  readonly trim: number | undefined;
  /** In UTF-16 code units, so that an edit may cut a surrogate pair. */
  readonly edit: { readonly at: number; readonly drop: number; readonly add: string };
  readonly key: string;
  readonly tasks: number;
  readonly asks: boolean;
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  turn: Annotation<Turn>,
  list: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
  table: Annotation<Record<string, unknown>>({
    reducer: (all, more) => ({ ...all, ...more }),
    default: () => ({}),
  }),
  text: Annotation<string>({ reducer: (_, text) => text, default: () => "😀😁😂 a long text. ".repeat(30) }),
});
type Values = typeof State.State;

/** The same messages for any saver: the ids count from the turns of the thread. */
function changedMessages({ messages, turn, list }: Values): BaseMessage[] {
  const changed: BaseMessage[] = [];
  if (turn.clear) changed.push(new RemoveMessage({ id: REMOVE_ALL_MESSAGES }));
  else {
    const removed = new Set<string>();
    const drop = (message: BaseMessage | undefined) => message?.id !== undefined && removed.add(message.id);
    if (turn.remove !== undefined) drop(messages[turn.remove]);
    if (turn.trim !== undefined) messages.slice(0, -turn.trim).forEach(drop);
    const replaced = turn.replace === undefined ? undefined : messages[turn.replace];
    if (replaced?.id !== undefined && !removed.has(replaced.id))
      changed.push(new AIMessage({ id: replaced.id, content: `${turn.say} instead` }));
    for (const id of removed) changed.push(new RemoveMessage({ id }));
  }
  changed.push(
    new AIMessage({
      id: `answer ${list.length} ${messages.length}`,
      content: `${turn.say.repeat(3)} ${messages.at(-1)?.content}`,
    }),
  );
  return changed;
}

function build(checkpointer: BaseCheckpointSaver) {
  const child = new StateGraph(State)
    .addNode("note", ({ turn }) => ({ list: [`child ${turn.say}`], table: { [turn.key]: turn } }))
    .addNode("check", ({ turn }) => ({ list: turn.asks ? [String(interrupt("child?"))] : [] }))
    .addEdge(START, "note")
    .addEdge("note", "check")
    .compile({ checkpointer: true });
  return new StateGraph(State)
    .addNode("act", (state) => {
      const { at, drop, add } = state.turn.edit;
      const start = at % (state.text.length + 1);
      const text = state.text.slice(0, start) + add + state.text.slice(start + drop);
      return { messages: changedMessages(state), list: [state.turn.say], text };
    })
    .addNode("work", ({ turn }: Pick<Values, "turn">) => ({ list: [`work ${turn.say}`] }))
    .addNode("left", ({ turn, text }) => ({ table: { [turn.key]: { text: text.slice(0, 200) } } }))
    .addNode("right", ({ turn }) => ({ list: [`right ${turn.key}`] }))
    .addNode("ask", ({ turn }) => ({ list: turn.asks ? [String(interrupt({ about: turn.say }))] : [] }))
    .addNode("child", child)
    .addEdge(START, "act")
    .addConditionalEdges(
      "act",
      ({ turn }) => [
        ...Array.from({ length: turn.tasks }, (_, n) => new Send("work", { turn: { ...turn, say: `${n}` } })),
        ...["left", "right"],
      ],
      ["work", "left", "right"],
    )
    .addEdge(["left", "right"], "ask")
    .addEdge("ask", "child")
    .compile({ checkpointer });
}

const words = fc.constantFrom(
  'she said "yes"',
  "😀",
  "😁😀",
  "\u{1f200}",
  "a word",
  '{"a":{"b":"c"}}',
  "\ud83d",
  "\ude00",
  "é",
  "",
);
const place = fc.option(fc.nat(5), { nil: undefined });
const turn: fc.Arbitrary<Turn> = fc.record({
  say: fc.array(words, { maxLength: 12 }).map((all) => all.join("")),
  ...{ replace: place, remove: place },
  clear: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  trim: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  edit: fc.record({ at: fc.nat(700), drop: fc.nat(9), add: words }),
  key: fc.constantFrom("a", "b", "__proto"),
  tasks: fc.nat(2),
  asks: fc.boolean(),
});
const durability = fc.constantFrom("sync" as const, "async" as const, "exit" as const);
/** The entry of the history to fork from, if any. */
const fork = fc.option(fc.nat(40), { nil: undefined, freq: 2 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("invoke" as const), turn, durability, fork }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("stream" as const), turn, durability, fork }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("resume" as const), answer: words, durability, fork }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("update" as const), turn, fork }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Returns what the step returns, or the message of its error. */
async function run(checkpointer: BaseCheckpointSaver, one: Step): Promise<unknown> {
  if (one.kind === "reopen") return undefined;
  const graph = build(checkpointer);
  const history = one.fork === undefined ? [] : await collect(graph.getStateHistory(config));
  const from = history[(one.fork ?? 0) % Math.max(history.length, 1)]?.config ?? config;
  const said = (turn: Turn) => ({
    turn,
    messages: [new HumanMessage({ id: turn.key, content: `${turn.say} ${turn.key}` })],
  });
  try {
    if (one.kind === "update") {
      const { messages, turn } = said(one.turn);
      return await graph.updateState(from, { messages, turn, list: ["edited"] }, "act");
    }
    const options = { ...from, durability: one.durability };
    if (one.kind === "resume") return await graph.invoke(new Command({ resume: one.answer }), options);
    if (one.kind === "invoke") return await graph.invoke(said(one.turn), options);
    return await collect(
      await graph.stream(said(one.turn), { ...options, streamMode: ["values", "updates"] }),
    );
  } catch (error) {
    return String(error);
  }
}

/** All that can be read of the thread. */
async function readAll(checkpointer: BaseCheckpointSaver): Promise<unknown> {
  const graph = build(checkpointer);
  return {
    state: await graph.getState(config, { subgraphs: true }),
    history: await collect(graph.getStateHistory(config)),
    some: await collect(graph.getStateHistory(config, { limit: 2, filter: { source: "input" } })),
    list: byNamespace(await collect(checkpointer.list(config))),
  };
}

test("any runs of a graph read the same as with LangGraph's own saver, after every step", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 7 }), async (steps) => {
      const own = new MemorySaver();
      const stores = createMemoryStores();
      let saver = new ScrollbackSaver({ stores });
      for (const [index, one] of steps.entries()) {
        if (one.kind === "reopen") saver = new ScrollbackSaver({ stores });
        const expected = [await run(own, one), await readAll(own)];
        const found = [await run(saver, one), await readAll(saver)];
        expect(withNamedIds(found, index)).toEqual(withNamedIds(expected, index));
      }
    }),
    { numRuns: rounds(12, 150), seed: 41 },
  );
});
