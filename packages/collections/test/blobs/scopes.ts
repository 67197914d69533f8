import type { Call, Scope } from "./explore.ts";

const add = (thread: string, content = "photo"): Call => ({
  name: `add ${content} to ${thread}`,
  run: (threads) => threads.add(thread, content),
});
const drop = (thread: string): Call => ({
  name: `drop of ${thread}`,
  run: (threads) => threads.drop(thread),
});
const refuse = (thread: string): Call => ({
  name: `refused add to ${thread}`,
  run: (threads) => threads.refuse(thread, "photo"),
});
const remove = (thread: string): Call => ({
  name: `delete ${thread}`,
  run: (threads) => threads.remove(thread),
});
const removeAll = (thread: string): Call => ({
  name: `delete all of ${thread}`,
  run: (threads) => threads.removeAll(thread),
});
const sweep = (thread: string): Call => ({
  name: `sweep ${thread}`,
  run: (threads) => threads.sweepNow(thread),
});

/** What happens side by side, by its name. */
export const scopes: Readonly<Record<string, Scope>> = {
  "two first uses": { before: [], processes: [add("a"), add("b")], crashes: 1 },
  "two uses in one thread": { before: [], processes: [add("a"), add("a")], crashes: 1 },
  "a use, and the end of the last one": { before: [add("b")], processes: [add("a"), drop("b")], crashes: 1 },
  "two uses, and the end of the last one": {
    before: [add("b")],
    processes: [add("a"), add("a"), drop("b")],
    crashes: 2,
  },
  "a use, and the end of two": {
    before: [add("b"), add("a")],
    processes: [add("a"), drop("b"), drop("a")],
    crashes: 1,
  },
  "a use, and a deletion of its thread": {
    before: [add("a")],
    processes: [add("a"), remove("a")],
    crashes: 2,
  },
  "a drop, a sweep and a deletion of the thread": {
    before: [add("a"), add("a", "other")],
    processes: [drop("a"), sweep("a"), removeAll("a")],
    crashes: 0,
  },
  "a use, and a sweep": { before: [add("a", "other")], processes: [add("a"), sweep("a")], crashes: 1 },
  "a use, and a refused one": {
    before: [add("b")],
    processes: [add("a"), refuse("a"), drop("b")],
    crashes: 1,
  },
  "a use, a drop and a sweep": {
    before: [add("a")],
    processes: [add("a"), drop("a"), sweep("a")],
    crashes: 1,
  },
  "a use, a sweep and two drops": {
    before: [add("a"), add("a", "other"), add("b")],
    processes: [add("a"), drop("a"), drop("b"), sweep("a")],
    crashes: 2,
  },
  "a use, and deletions of two threads": {
    before: [add("a"), add("b")],
    processes: [add("a"), remove("a"), remove("b")],
    crashes: 2,
  },
};
