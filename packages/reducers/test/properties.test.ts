import { type ChatMessage, createMemoryStores, StoreError } from "@scrollback/store-core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import {
  type ChatReducer,
  checkHistory,
  MessageCountingReducer,
  SummarizingReducer,
  TokenBudgetReducer,
  TruncatingReducer,
} from "../src/index.ts";
import { history, idsOf } from "./messages.ts";

const ids = fc
  .array(fc.constantFrom("x", "y", "z"), { minLength: 1, maxLength: 2 })
  .map((list) => list.join(","));
const bare = fc.constantFrom("s", "u", "u", "a", "a", "t", "m");
const withIds = fc
  .tuple(fc.constantFrom("c", "q", "Q", "p", "r", "R", "y", "Y"), ids)
  .map(([letter, id]) => `${letter}:${id}`);
/** Any messages in any order. */
const anyHistory = fc
  .array(fc.oneof(bare, withIds), { maxLength: 16 })
  .map((letters) => history(letters.join(" ")));

/** One use of a tool, with a person's approval or without. */
const toolUse = fc.constantFrom(
  "c:x r:x",
  "c:x,y r:y r:x",
  "c:x,y r:x,y",
  "q:x y:x r:x",
  "c:x R:x",
  "p:x",
  "a",
);
/**
 * An approval in a user's message, as in other frameworks; in the AI SDK it is in a tool's message. Trimming treats it like
 * any user message (C6), so the kept messages may begin there.
 */
const usersApproval = fc.constantFrom("q:x Y:x r:x", "q:x r:x Y:x");
const turnOf = (use: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(use, { maxLength: 3 }), fc.constantFrom("a", ""))
    .map(([uses, answer]) => ["u", ...uses, answer].filter((word) => word !== "").join(" "));
const soundOf = (use: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.boolean(), fc.array(turnOf(use), { minLength: 1, maxLength: 8 }))
    .map(([hasSystem, turns]) => ({ hasSystem, turns }));
const messagesOf = ({ hasSystem, turns }: { hasSystem: boolean; turns: string[] }) =>
  history([...(hasSystem ? ["s"] : []), ...turns].join(" "));
const soundHistory = soundOf(fc.oneof(toolUse, usersApproval)).map(messagesOf);

const target = fc.integer({ min: 1, max: 8 });
const threshold = fc.nat(4);
const countTokens = (messages: readonly ChatMessage[]) => messages.length;
const isTool = ({ id = "" }: ChatMessage) => /^[cqQprRyYt]/.test(id);
const isSystem = ({ role }: ChatMessage) => role === "system";

/** Returns messages unchanged if they cannot fit. */
function withinBudget(maxTokens: number): ChatReducer {
  const reducer = new TokenBudgetReducer({ maxTokens, countTokens });
  return {
    reduce: (messages) =>
      reducer.reduce(messages).catch((error) => {
        if (StoreError.is(error, "TOO_LARGE")) return [...messages];
        throw error;
      }),
  };
}

interface Subject {
  readonly name: string;
  readonly reducer: fc.Arbitrary<ChatReducer>;
  /** The newest message that the reducer may keep. */
  newest(messages: readonly ChatMessage[]): ChatMessage | undefined;
  /** Whether its result may begin at any message, which is a problem for some models. */
  readonly startsAnywhere: boolean;
  /** Whether the result can be sent to a model if the input can. */
  readonly keepsTheEnd: boolean;
}
const newestOfAll = (messages: readonly ChatMessage[]) => messages.at(-1);
const subjects: Subject[] = [
  {
    name: "MessageCountingReducer",
    reducer: target.map((targetCount) => new MessageCountingReducer({ targetCount })),
    newest: (messages) => messages.findLast((message) => !isSystem(message) && !isTool(message)),
    startsAnywhere: true,
    keepsTheEnd: false,
  },
  {
    name: "MessageCountingReducer with keepToolMessages",
    reducer: target.map((targetCount) => new MessageCountingReducer({ targetCount, keepToolMessages: true })),
    // The newest exchange may be too long to keep.
    newest: (messages) =>
      messages.findLast((message) => !isSystem(message) && message === messages.at(-1) && !isTool(message)),
    startsAnywhere: true,
    keepsTheEnd: true,
  },
  {
    name: "TruncatingReducer",
    reducer: fc
      .tuple(target, threshold)
      .map(([targetCount, more]) => new TruncatingReducer({ targetCount, threshold: more })),
    newest: newestOfAll,
    startsAnywhere: true,
    keepsTheEnd: true,
  },
  {
    name: "SummarizingReducer",
    reducer: fc
      .tuple(target, threshold)
      .map(
        ([targetCount, more]) =>
          new SummarizingReducer({ targetCount, threshold: more, model: async () => "summary" }),
      ),
    newest: (messages) => messages.findLast((message) => !isSystem(message)),
    startsAnywhere: true,
    keepsTheEnd: true,
  },
  {
    name: "TokenBudgetReducer",
    reducer: fc.integer({ min: 1, max: 12 }).map(withinBudget),
    newest: (messages) =>
      messages.every((message) => isTool(message) || isSystem(message)) ? undefined : messages.at(-1),
    startsAnywhere: false,
    keepsTheEnd: true,
  },
];

/** Problems as "code of message", because a message keeps its id when its position changes. */
function problemsOf(messages: readonly ChatMessage[], forRequest: boolean): string[] {
  return checkHistory(messages, { forRequest }).map(({ index, code }) =>
    // Without the id, because the first or last message may differ: there is at most one such problem.
    code === "starts-with" || code === "ends-with" ? code : `${code} of ${messages[index]?.id}`,
  );
}

/** The multiset difference of two lists. */
function without(list: readonly string[], other: readonly string[]): string[] {
  const left = [...other];
  return list.filter((one) => {
    const index = left.indexOf(one);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

describe.each(subjects)("$name", ({ reducer, newest, startsAnywhere, keepsTheEnd }) => {
  const histories = fc.oneof(anyHistory, soundHistory);

  test("adds no problem to the history", async () => {
    await fc.assert(
      fc.asyncProperty(histories, reducer, async (messages, one) => {
        const reduced = await one.reduce(messages);
        for (const forRequest of keepsTheEnd ? [false, true] : [false]) {
          const added = without(problemsOf(reduced, forRequest), problemsOf(messages, forRequest));
          expect(added.filter((problem) => !startsAnywhere || problem !== "starts-with")).toEqual([]);
        }
      }),
      { numRuns: rounds(800, 3_000) },
    );
  });

  test("keeps the newest message", async () => {
    await fc.assert(
      fc.asyncProperty(histories, reducer, async (messages, one) => {
        const last = newest(messages);
        if (last) expect((await one.reduce(messages)).at(-1)).toBe(last);
      }),
      { numRuns: rounds(500, 2_000) },
    );
  });

  test("does not change its input, and returns a new array of its messages, in order", async () => {
    await fc.assert(
      fc.asyncProperty(histories, reducer, async (messages, one) => {
        const before = structuredClone(messages);
        const reduced = await one.reduce(Object.freeze(messages.map((message) => Object.freeze(message))));
        expect(messages).toEqual(before);
        expect(reduced).not.toBe(messages);
        expect(reduced.includes(undefined as never)).toBe(false);
        const rest = reduced.filter(({ id }) => id !== undefined);
        const front = rest[0]?.role === "system" ? rest.slice(0, 1) : [];
        const places = rest.slice(front.length).map((message) => messages.indexOf(message));
        expect(places).not.toContain(-1);
        expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
        expect(reduced.length - rest.length).toBeLessThanOrEqual(1);
      }),
      { numRuns: rounds(300, 1_000) },
    );
  });
});

test("MessageCountingReducer keeps at most targetCount messages beside the system message", async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory, target, fc.boolean(), async (messages, targetCount, keepToolMessages) => {
      const reduced = await new MessageCountingReducer({ targetCount, keepToolMessages }).reduce(messages);
      expect(reduced.filter((message) => !isSystem(message)).length).toBeLessThanOrEqual(targetCount);
      expect(reduced.findIndex(isSystem)).toBeLessThanOrEqual(0);
      expect(reduced.find(isSystem)).toBe(messages.find(isSystem));
    }),
  );
});

test("TruncatingReducer keeps at least the newest targetCount, the first system message counted", async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory, target, threshold, async (messages, targetCount, more) => {
      const reduced = await new TruncatingReducer({ targetCount, threshold: more }).reduce(messages);
      expect(reduced.length).toBeGreaterThanOrEqual(Math.min(messages.length, targetCount));
      expect(reduced.filter((message) => message === messages.find(isSystem)).length).toBe(
        messages.some(isSystem) ? 1 : 0,
      );
    }),
  );
});

test("SummarizingReducer adds no problem and keeps the newest message, also with remembered summaries", async () => {
  const lengths = fc.array(fc.nat(16), { minLength: 2, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(soundHistory, lengths, target, threshold, async (all, cuts, targetCount, more) => {
      let calls = 0;
      const model = async () => `summary ${++calls}`;
      const reducer = new SummarizingReducer({ targetCount, threshold: more, model });
      // The history grows, and sometimes messages are removed.
      for (const length of cuts) {
        const messages = all.slice(0, length);
        const reduced = await reducer.reduce(messages);
        const added = without(problemsOf(reduced, true), problemsOf(messages, true));
        expect(added.filter((problem) => problem !== "starts-with")).toEqual([]);
        expect(reduced.at(-1)).toBe(messages.at(-1));
      }
    }),
    { numRuns: rounds(300, 1_000) },
  );
});

test("TokenBudgetReducer keeps as many turns as fit, starting at a user's question", async () => {
  await fc.assert(
    fc.asyncProperty(soundOf(toolUse), target, async (sound, maxTokens) => {
      const messages = messagesOf(sound);
      const reduced = await new TokenBudgetReducer({ maxTokens, countTokens })
        .reduce(messages)
        .catch(() => []);
      const system = sound.hasSystem ? 1 : 0;
      const lengths = sound.turns.map((turn) => turn.split(" ").length).reverse();
      let expected = 0;
      for (const length of lengths) {
        if (system + expected + length > maxTokens) break;
        expected += length;
      }
      expect(reduced.length).toBe(expected === 0 ? 0 : system + expected);
      if (expected > 0) expect(idsOf(reduced)).toMatch(sound.hasSystem ? /^s0 u/ : /^u/);
      expect(checkHistory(reduced)).toEqual([]);
    }),
    { numRuns: rounds(300, 1_000) },
  );
});

test('"turns" trimming of a valid history leaves no problem if the newest turn fits', async () => {
  let trimmed = 0;
  await fc.assert(
    fc.asyncProperty(soundOf(toolUse), fc.nat(12), fc.boolean(), async (sound, room, atOnce) => {
      const messages = messagesOf(sound);
      expect(checkHistory(messages)).toEqual([]);
      // Messages are added one by one, so each turn is the newest one at some time.
      const lengths = sound.turns.map((turn) => turn.split(" ").length);
      const newestTurn = atOnce ? (lengths.at(-1) ?? 0) : Math.max(...lengths);
      const maxMessages = newestTurn + (sound.hasSystem ? 1 : 0) + room;
      const store = createMemoryStores({ maxMessages }).open();
      if (atOnce) await store.addMessages(messages);
      else for (const message of messages) await store.addMessages([message]);
      const left = await store.listMessages();
      if (left.length < messages.length) trimmed++;
      expect(left.at(-1)).toEqual(messages.at(-1));
      expect(checkHistory(left)).toEqual([]);
    }),
    { numRuns: rounds(500, 2_000) },
  );
  expect(trimmed).toBeGreaterThan(rounds(50, 200));
});
