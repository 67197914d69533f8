import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { createMemoryStores, StoreError } from "../src/index.ts";

const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withBoxedValues: true,
});

/** An object with a property that throws on access. */
const hostile = (fields: object, key: string) =>
  Object.defineProperty({ ...fields }, key, {
    enumerable: true,
    get() {
      throw new Error("not to be looked at");
    },
  });

/** Runs a call that may only reject with a StoreError with one of the given codes. */
async function settled(call: () => unknown, ...codes: string[]): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    expect(codes).toContain(error.code);
  }
}

function expectNoPollution(): void {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(Object.getOwnPropertyNames(Array.prototype)).not.toContain("polluted");
}

describe("C13 any value given to a store", () => {
  test("as messages is stored completely or fails with INVALID_ARGUMENT", async () => {
    const part = fc.oneof(anything, fc.record({ type: fc.string(), text: anything, toolCallId: anything }));
    const message = fc.oneof(
      anything,
      fc.record({
        role: fc.constantFrom("system", "user", "assistant", "tool", "__proto__"),
        content: fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }), anything),
        metadata: anything,
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.array(message, { maxLength: 3 }), anything), async (messages) => {
        const store = createMemoryStores().open("thread");
        const before = JSON.stringify(await store.read());
        try {
          await store.addMessages(messages as never);
        } catch (error) {
          if (!StoreError.is(error, "INVALID_ARGUMENT")) throw error;
          expect(JSON.stringify(await store.read())).toBe(before);
          return;
        }
        expect(await store.listMessages()).toHaveLength((messages as unknown[]).length);
      }),
      { numRuns: rounds(150, 400) },
    );
    expectNoPollution();
  });

  test("as a change, an option, a cursor or a limit is accepted or refused", async () => {
    const keys = fc.constantFrom(
      ...["drop", "append", "metadata", "operationId", "expectedRevision", "signal", "limit", "before"],
      ...["after", "__proto__", "constructor", "other"],
    );
    const options = fc.oneof(anything, fc.dictionary(keys, anything, { maxKeys: 3 }));
    const refusals = ["INVALID_ARGUMENT", "CONFLICT", "ABORTED", "TOO_LARGE"];
    await fc.assert(
      fc.asyncProperty(options, options, async (one, other) => {
        const store = createMemoryStores().open("thread");
        await store.addMessages([{ role: "user", content: "first" }]);
        await settled(() => store.commit(one as never, other as never), ...refusals);
        await settled(() => store.read(one as never), ...refusals);
        await settled(() => store.listMessages(one as never), ...refusals);
        await settled(() => store.popMessage(one as never), ...refusals);
        await settled(() => store.clear(one as never), ...refusals);
        await settled(() => store.replaceMessages(one as never, other as never), ...refusals);
        await settled(() => createMemoryStores().open(one as never), ...refusals);
      }),
      { numRuns: rounds(120, 300) },
    );
    expectNoPollution();
  });

  test("as a state is accepted or fails with INVALID_STATE", async () => {
    const { backend } = createMemoryStores().settings;
    const state = fc.oneof(
      anything,
      fc.record(
        {
          type: fc.oneof(fc.constant("scrollback.store"), anything),
          version: fc.oneof(fc.constant(1), anything),
          backend: fc.oneof(fc.constant(backend), anything),
          threadId: fc.oneof(fc.string(), anything),
          maxMessages: fc.oneof(fc.nat(), anything),
          ttlMs: fc.oneof(fc.maxSafeNat(), anything),
          trimming: fc.oneof(fc.constant("exact"), anything),
          thread: fc.oneof(
            fc.record({
              messages: fc.oneof(fc.array(fc.oneof(fc.string(), anything)), anything),
              metadata: fc.oneof(fc.string(), anything),
              expiresAt: anything,
            }),
            anything,
          ),
        },
        { requiredKeys: ["type", "version", "backend", "threadId"] },
      ),
    );
    const refusals = ["INVALID_STATE", "CORRUPT"];
    await fc.assert(
      fc.asyncProperty(state, async (given) => {
        const store = createMemoryStores().open("thread");
        await settled(() => store.updateFromState(given), ...refusals);
        await settled(
          async () => {
            const restored = createMemoryStores().restore(given);
            await restored.addMessages([{ role: "user", content: "more" }]);
            await restored.read({ limit: 3 });
          },
          ...refusals,
        );
      }),
      { numRuns: rounds(150, 500) },
    );
    expectNoPollution();
  });

  test("as a cursor that resembles a valid one is used, or fails with INVALID_ARGUMENT", async () => {
    const stores = createMemoryStores();
    const store = stores.open("thread");
    await store.addMessages(Array.from({ length: 5 }, (_, index) => ({ role: "user", content: `${index}` })));
    const { newer = "" } = await store.read();
    const real = Buffer.from(newer, "base64url").toString();
    const cursor = fc.oneof(
      fc.string(),
      fc
        .tuple(fc.nat(real.length), fc.string({ maxLength: 3 }))
        .map(([at, text]) => real.slice(0, at) + text),
      fc.tuple(fc.string(), fc.maxSafeNat()).map(([incarnation, sequence]) => `1:${incarnation}:${sequence}`),
      fc.maxSafeNat().map((sequence) => real.replace(/\d+$/, `${sequence}`)),
    );
    await fc.assert(
      fc.asyncProperty(cursor, fc.constantFrom("before", "after"), async (text, side) => {
        const encoded = Buffer.from(text).toString("base64url");
        await settled(async () => {
          const { entries } = await store.read({ [side]: encoded });
          expect(entries.length).toBeLessThanOrEqual(5);
        }, "INVALID_ARGUMENT");
      }),
    );
  });
});

describe("C13 refused with INVALID_ARGUMENT is", () => {
  const message = { role: "user", content: "text" };
  const withHole = [message, message, message];
  delete withHole[1];
  test.each<[string, unknown]>([
    ["a hole in the list of messages", withHole],
    ["a list of nothing but holes", new Array(3)],
    ["a list that claims the maximum length of a list", new Array(2 ** 32 - 1)],
    ["a message whose role throws when read", [hostile(message, "role")]],
    ["a message whose content throws when read", [hostile(message, "content")]],
    ["a message with metadata that throws when read", [hostile(message, "metadata")]],
    ["a message whose parts claim the maximum length", [{ role: "user", content: new Array(2 ** 32 - 1) }]],
    ["an array that claims the maximum length", [{ ...message, metadata: new Array(2 ** 32 - 1) }]],
    ["such an array inside a map", [{ ...message, metadata: new Map([["a", new Array(2 ** 32 - 1)]]) }]],
  ])("%s", async (_, messages) => {
    const start = performance.now();
    const store = createMemoryStores().open();
    const error = await store.addMessages(messages as never).catch((thrown) => thrown);
    expect(StoreError.is(error, "INVALID_ARGUMENT"), String(error)).toBe(true);
    expect(error.message).toMatch(/^messages\[/);
    expect(performance.now() - start).toBeLessThan(2_000);
    expect((await store.read()).revision).toBeNull();
  });
});
