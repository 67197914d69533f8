import { deepStrictEqual } from "node:assert/strict";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { ScrollbackSaver } from "@scrollback/bridge-langgraph";
import type { Backend, OpenedSaver } from "./backend.ts";
import { type ContestantName, type Measured, mediansOf } from "./calls.ts";
import { type Effort, measure } from "./measure.ts";
import { rounded } from "./results.ts";

/** The turns of each thread. */
const TURNS = 10;
const COUNTED_THREADS = 3;

interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

const State = Annotation.Root({
  messages: Annotation<Message[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
});

const questionOf = (turn: number) =>
  `Question ${turn}: which tram goes to the harbour? ${"I am at the station with two bicycles and would rather not change. ".repeat(4)}`;
const answerTo = (question: string) => `Line 4, every ten minutes. That is the answer to: ${question}`;

/** A graph with one node: a turn is two steps. As in a server, each request makes a graph; each step is stored before the next. */
function graphOn(saver: BaseCheckpointSaver) {
  return new StateGraph(State)
    .addNode("answer", ({ messages }) => ({
      messages: [{ role: "assistant" as const, content: answerTo(messages.at(-1)?.content ?? "") }],
    }))
    .addEdge(START, "answer")
    .compile({ checkpointer: saver });
}

const configOf = (thread: number) => ({ configurable: { thread_id: `turns-${thread}` } });

function turn(saver: BaseCheckpointSaver, thread: number, number: number): Promise<unknown> {
  const message: Message = { role: "user", content: questionOf(number) };
  return graphOn(saver).invoke({ messages: [message] }, { ...configOf(thread), durability: "sync" });
}

/** Measures a turn of an agent of LangGraph on our bridge, and on LangGraph's own class for the backend where there is one. */
export async function measureTurns(backend: Backend, effort: Effort): Promise<Measured> {
  const { definition, url, counted } = backend;
  const requests = counted && (await countRequests(oursAt(backend, counted.url), counted.requests));
  const theirs = await definition.saver?.(url);
  const ours = oursAt(backend, url);
  const savers: [ContestantName, OpenedSaver][] = [["ours", ours]];
  if (theirs) savers.push(["other", theirs]);
  let made = 1_000;
  const cells = savers.map(([name, { saver }]) => {
    let number = 0;
    let thread = made++;
    return {
      name,
      times: [] as number[],
      prepare() {
        if (number === TURNS) {
          number = 0;
          thread = made++;
        }
        const [usedThread, usedNumber] = [thread, number++];
        return () => turn(saver, usedThread, usedNumber);
      },
    };
  });
  await measure(cells, effort);
  for (const [, { close }] of savers) await close();
  return { name: "LangGraph turn", ...mediansOf(cells), ...(requests !== undefined && { requests }) };
}

function oursAt({ definition }: Backend, url: string): OpenedSaver {
  const { stores, close } = definition.stores(url, undefined);
  return { saver: new ScrollbackSaver({ stores }), close };
}

/** The requests for each turn that is not the first of its thread. Checks that a thread has all its turns. */
async function countRequests({ saver, close }: OpenedSaver, requests: () => number): Promise<number> {
  let count = 0;
  for (let thread = 0; thread < COUNTED_THREADS; thread++) {
    for (let number = 0; number < TURNS; number++) {
      const before = requests();
      await turn(saver, thread, number);
      if (number > 0) count += requests() - before;
    }
  }
  const { values } = await graphOn(saver).getState(configOf(0));
  deepStrictEqual(
    (values.messages as Message[]).map(({ content }) => content),
    Array.from({ length: TURNS }, (_, number) => [questionOf(number), answerTo(questionOf(number))]).flat(),
  );
  await close();
  return rounded(count / (COUNTED_THREADS * (TURNS - 1)));
}
