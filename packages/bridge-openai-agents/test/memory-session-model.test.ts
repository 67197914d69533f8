import { type AgentInputItem, MemorySession, type SessionHistoryTransactionArgs } from "@openai/agents-core";
import { createMemoryStores } from "@scrollback/store-core";
import { pairedHistory } from "@scrollback/store-core/internal";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { ScrollbackSession } from "../src/index.ts";
import { itemHistoryTraits } from "../src/items.ts";
import { assistant, call, result, user } from "./items.ts";

const item = fc.constantFrom(user("a"), user("b"), assistant("c"), call("1"), call("2"), result("1"));
const items = fc.array(item, { maxLength: 3 });
const operationId = fc.constantFrom("o", "p", "q", " ", "");
const transaction = fc.oneof(
  fc.record({ type: fc.constant("append_items" as const), items }),
  fc.record({ type: fc.constant("replace_suffix" as const), expectedSuffix: items, replacement: items }),
  fc.constantFrom(null, {}, { type: "append_items" }, { type: "append_items", items: [{ role: "user" }] }),
  fc.constantFrom({ type: "replace_suffix", expectedSuffix: 5, replacement: [] }, { type: "other" }),
);
type Step = (session: MemorySession | ScrollbackSession) => Promise<unknown>;
const step: fc.Arbitrary<Step> = fc.oneof(
  items.map(
    (some): Step =>
      (session) =>
        session.addItems(some),
  ),
  fc.integer({ min: -1, max: 4 }).map(
    (limit): Step =>
      async (session) =>
        session instanceof MemorySession
          ? await trimmed(await session.getItems(), limit)
          : await session.getItems(limit),
  ),
  fc.constant<Step>((session) => session.popItem()),
  fc.constant<Step>((session) => session.clearSession()),
  fc.record({ operationId, transaction }).map(
    (args): Step =>
      (session) =>
        session.applyHistoryTransaction(args as SessionHistoryTransactionArgs),
  ),
  fc.constantFrom("1", "2", "3").map(
    (callId): Step =>
      (session) => {
        const mutation = {
          type: "replace_function_call" as const,
          callId,
          replacement: call(callId, '{"to":"x"}'),
        };
        return session.applyHistoryMutations({ mutations: [mutation] });
      },
  ),
);

/** The items that a session of at most `limit` has. MemorySession itself separates results from their calls. */
async function trimmed(items: AgentInputItem[], limit: number): Promise<AgentInputItem[]> {
  if (limit <= 0) return [];
  const session = new ScrollbackSession({ stores: createMemoryStores({ maxMessages: limit }) });
  await session.addItems(items);
  return await session.getItems();
}

/** The outcome of a step. Of a history, `ScrollbackSession` leaves out what has no counterpart; so the steps here do, too. */
async function outcomeOf(session: MemorySession | ScrollbackSession, one: Step): Promise<unknown> {
  try {
    const value = await one(session);
    return { value: Array.isArray(value) ? paired(value) : value };
  } catch (error) {
    return { name: (error as Error).name, message: (error as Error).message };
  }
}

const paired = (items: AgentInputItem[]) => pairedHistory(items, itemHistoryTraits).messages;

test("any steps have the same outcomes as with MemorySession, including errors", async () => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const stores = createMemoryStores();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const theirs = new MemorySession();
      const ours = new ScrollbackSession({ stores });
      for (const one of steps) {
        expect(await outcomeOf(ours, one)).toEqual(await outcomeOf(theirs, one));
        expect(await ours.getItems()).toEqual(paired(await theirs.getItems()));
      }
    }),
    { numRuns: 300 },
  );
});
