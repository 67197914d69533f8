import type { ModelMessage } from "ai";
import { expectTypeOf, test } from "vitest";
import {
  type ChatReducer,
  MessageCountingReducer,
  SummarizingReducer,
  TokenBudgetReducer,
  TruncatingReducer,
} from "../src/index.ts";

test("reducers that only drop messages return the type they receive", () => {
  const kept: ChatReducer<ModelMessage>[] = [
    new MessageCountingReducer({ targetCount: 1 }),
    new TruncatingReducer({ targetCount: 1 }),
    new TokenBudgetReducer({ maxTokens: 1, countTokens: () => 1 }),
  ];
  expectTypeOf(kept).toExtend<readonly ChatReducer<ModelMessage>[]>();
  const summarizing = new SummarizingReducer({ model: async () => "", targetCount: 1 });
  expectTypeOf(summarizing.reduce).parameter(0).toExtend<readonly unknown[]>();
  expectTypeOf<ModelMessage[]>().toExtend<Parameters<typeof summarizing.reduce>[0]>();
});
