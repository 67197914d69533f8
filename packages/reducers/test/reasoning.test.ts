import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import {
  MessageCountingReducer,
  SummarizingReducer,
  TokenBudgetReducer,
  TruncatingReducer,
} from "../src/index.ts";
import { history, idsOf } from "./messages.ts";

const messages = history("u n c:x r:x n a");

test("truncating never separates reasoning from the message after it", async () => {
  const kept = async (targetCount: number) =>
    idsOf(await new TruncatingReducer({ targetCount }).reduce(messages));
  expect(await kept(1)).toBe("n4 a5");
  expect(await kept(2)).toBe("n4 a5");
  expect(await kept(3)).toBe("n1 c2 r3 n4 a5");
  expect(await kept(4)).toBe("n1 c2 r3 n4 a5");
  expect(await kept(5)).toBe("n1 c2 r3 n4 a5");
});

test("a token budget never separates reasoning from the message after it", async () => {
  const answers = messages.slice(1);
  const kept = async (maxTokens: number) =>
    idsOf(await new TokenBudgetReducer({ maxTokens, countTokens: ({ length }) => length }).reduce(answers));
  expect(await kept(2)).toBe("n4 a5");
  expect(await kept(4)).toBe("n4 a5");
  expect(await kept(5)).toBe("n1 c2 r3 n4 a5");
});

test("counting drops the reasoning of a dropped tool call, and keeps the reasoning of an answer", async () => {
  expect(idsOf(await new MessageCountingReducer({ targetCount: 9 }).reduce(messages))).toBe("u0 n4 a5");
  const keeping = new MessageCountingReducer({ targetCount: 4, keepToolMessages: true });
  expect(idsOf(await keeping.reduce(messages))).toBe("n4 a5");
});

test("a summary is not cut between reasoning and the message after it", async () => {
  const asked: string[] = [];
  const reducer = new SummarizingReducer({
    model: async (request) => {
      asked.push(idsOf(request.messages));
      return "short";
    },
    targetCount: 1,
  });
  expect(idsOf(await reducer.reduce(history("u a n c:x r:x u n a")))).toBe("[short] n6 a7");
  expect(asked).toEqual(["u0 a1 u5"]);
});

test("a summary stays in a store that trims", async () => {
  const store = createMemoryStores({ maxMessages: 3 }).open();
  await store.addMessages(history("m u a u a"));
  expect(idsOf(await store.listMessages())).toBe("m0 u3 a4");
});
