import type { ChatMessage, MessageStore, StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { meanwhile } from "../checks/meanwhile.ts";
import { checkProperty } from "../checks/property.ts";
import type { Clause } from "../clause.ts";
import { assistant, numbered, system, textsIn, toolResult, user } from "../messages/messages.ts";
import { history, trimmingExamples } from "../trimming-examples.ts";
import { trimmed } from "../trimming-oracle.ts";

const trimmings: NonNullable<StoreOptions["trimming"]>[] = ["turns", "exact"];

/**
 * The numbers of dropped messages are used again, by messages of another kind: a driver that remembers which messages trimming has
 * looked at must forget these.
 */
const afterSearches: [number, { drop: number; append: string }[]][] = [
  [
    3,
    [
      { drop: 0, append: "aaaa" },
      { drop: 2, append: "aua" },
    ],
  ],
  [
    3,
    [
      { drop: 0, append: "tttt" },
      { drop: 2, append: "tat" },
    ],
  ],
  [
    3,
    [
      { drop: 0, append: "kukuu" },
      { drop: 3, append: "uuu" },
    ],
  ],
  [
    2,
    [
      { drop: 0, append: "kk" },
      { drop: 1, append: "ut" },
    ],
  ],
];

/** The same thread with other options. */
const reopened = (backend: Backend, store: MessageStore, options: StoreOptions = {}) =>
  backend.stores(options).open(store.threadId);

export const trimming: Clause = {
  title: "Trimming",
  declare(test) {
    for (const mode of trimmings) {
      test(`worked examples, trimming "${mode}"`, async (backend) => {
        for (const { what, before, added, maxMessages, ...kept } of trimmingExamples) {
          const store = backend.store();
          const messages = history(before);
          const more = history(added, messages.length + 1);
          await store.addMessages(messages);
          await reopened(backend, store, { maxMessages, trimming: mode }).addMessages(more);
          const expected = [...messages, ...more].filter((_, index) => kept[mode].includes(index + 1));
          // Read without a limit, to see what the backend itself has.
          expect(await store.listMessages(), what).toStrictEqual(expected);
        }
      });

      test(`random histories are trimmed as the clause says, trimming "${mode}"`, async (backend) => {
        const step = fc.record({
          drop: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 4 })),
          append: fc.string({ unit: fc.constantFrom(..."suuaacctrpnbk"), maxLength: 7 }),
        });
        const run = fc.asyncProperty(
          fc.integer({ min: 1, max: 7 }),
          fc.array(step, { minLength: 1, maxLength: 6 }),
          async (maxMessages, steps) => {
            const store = backend.store({ maxMessages, trimming: mode });
            let expected: readonly ChatMessage[] = [];
            let number = 1;
            for (const { drop, append } of steps) {
              const messages = history(append, number);
              number += messages.length;
              const kept = expected.slice(0, Math.max(0, expected.length - drop));
              expected = trimmed([...kept, ...messages], maxMessages, mode);
              await store.commit({ drop, append: messages });
              expect(await reopened(backend, store).listMessages()).toStrictEqual(expected);
            }
          },
        );
        await checkProperty(run, 40, afterSearches);
      });
    }

    test('"turns" is the default', async (backend) => {
      const store = backend.store({ maxMessages: 3 });
      await store.addMessages(history("s u a u a"));
      expect(await textsIn(reopened(backend, store))).toEqual(["1", "4", "5"]);
    });

    test("the thread has at most maxMessages messages after every kind of write", async (backend) => {
      const store = backend.store({ maxMessages: 4, trimming: "exact" });
      const unlimited = reopened(backend, store);
      await store.addMessages(numbered(9));
      expect(await textsIn(unlimited)).toEqual(["message 6", "message 7", "message 8", "message 9"]);
      await store.replaceMessages(numbered(6, "replaced"));
      expect(await textsIn(unlimited, 1)).toEqual(["replaced 6"]);
      expect(await unlimited.listMessages()).toHaveLength(4);
      await unlimited.addMessages(numbered(3, "over"));
      await store.commit({ metadata: "a commit that only sets metadata" });
      expect(await textsIn(unlimited)).toEqual(["replaced 6", "over 1", "over 2", "over 3"]);
      await unlimited.addMessages(numbered(3, "again"));
      await store.commit({ drop: 1 });
      expect(await textsIn(unlimited)).toEqual(["over 2", "over 3", "again 1", "again 2"]);
      await unlimited.addMessages(numbered(3, "popped"));
      await store.popMessage();
      expect(await textsIn(unlimited)).toEqual(["again 1", "again 2", "popped 1", "popped 2"]);
    });

    test("a commit trims atomically: no reader sees more messages, and the revision changes once", async (backend) => {
      const store = backend.store({ maxMessages: 5, trimming: "exact" });
      const reader = backend.otherStores().open(store.threadId);
      const revisions: (string | null)[] = [];
      const write = async () => {
        for (let round = 0; round < 30; round++) {
          revisions.push(await store.addMessages(numbered(3, `${round}`)));
          expect((await store.read({ limit: 0 })).revision).toBe(revisions.at(-1));
        }
      };
      const read = async () => {
        const { entries, revision } = await reader.read();
        expect(entries.length).toBeLessThanOrEqual(5);
        if (revision !== null) expect(entries.at(-1)?.message.content).toMatch(/ 3$/);
      };
      await meanwhile(write(), read, read);
    });

    test("a kept system message stays first when messages are dropped and added behind it", async (backend) => {
      const store = backend.store({ maxMessages: 3 });
      await store.addMessages([system("rules"), ...numbered(6)]);
      expect(await textsIn(store)).toEqual(["rules", "message 5", "message 6"]);
      expect(await store.popMessage()).toStrictEqual(user("message 6"));
      await store.addMessages([assistant("a")]);
      expect(await textsIn(store)).toEqual(["rules", "message 5", "a"]);
      await store.commit({ drop: 2 });
      expect(await textsIn(store)).toEqual(["rules"]);
      await store.addMessages(numbered(2, "new"));
      expect(await textsIn(store)).toEqual(["rules", "new 1", "new 2"]);
      await store.addMessages([user("new 3")]);
      expect(await textsIn(store)).toEqual(["rules", "new 2", "new 3"]);
      const sequences = (await store.read()).entries.map(({ sequence }) => sequence);
      expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
      await store.commit({ drop: 2 });
      expect(await store.popMessage()).toStrictEqual(system("rules"));
      expect(await store.popMessage()).toBeUndefined();
      await store.addMessages([user("alone"), assistant("b"), user("c"), assistant("d")]);
      expect(await textsIn(store)).toEqual(["c", "d"]);
      await store.commit({ drop: 9, append: [system("other rules"), ...numbered(4)] });
      expect(await textsIn(store)).toEqual(["other rules", "message 3", "message 4"]);
    });

    test("a lower maxMessages applies to reads at once, and to the thread at the next write", async (backend) => {
      const store = backend.store();
      const messages = history("s u k u a u n c c t t a k u a c c t n a");
      await store.addMessages(messages);
      for (const mode of trimmings) {
        for (const maxMessages of [1, 2, 3, 4, 5, 6, 8, 10, 13, 15, 19, 20, 30]) {
          const expected = trimmed(messages, maxMessages, mode);
          const lowered = backend.stores({ maxMessages, trimming: mode }).restore(await store.serialize());
          const { revision, entries, older } = await lowered.read();
          expect(await lowered.listMessages()).toStrictEqual(expected);
          expect(entries.map(({ message }) => message)).toStrictEqual(expected);
          expect(older).toBeUndefined();
          for (const limit of [1, 2, 5]) {
            expect(await lowered.listMessages({ limit })).toStrictEqual(expected.slice(-limit));
          }
          const paged: ChatMessage[] = [];
          let page = await lowered.read({ limit: 2 });
          for (;;) {
            expect(page.revision).toBe(revision);
            paged.unshift(...page.entries.map(({ message }) => message));
            if (page.older === undefined || paged.length > expected.length) break;
            page = await lowered.read({ limit: 2, before: page.older });
          }
          expect(paged).toStrictEqual(expected);
        }
      }
      expect(await store.listMessages(), "reads do not trim the thread").toStrictEqual(messages);
      const lowered = backend.stores({ maxMessages: 4 }).restore(await store.serialize());
      await lowered.addMessages([user("10")]);
      const left = trimmed([...messages, user("10")], 4, "turns");
      expect(await store.listMessages()).toStrictEqual(left);
      await reopened(backend, store, { maxMessages: 50 }).addMessages([assistant("11")]);
      expect(await store.listMessages(), "a higher limit restores nothing").toStrictEqual([
        ...left,
        assistant("11"),
      ]);
    });

    test("each store trims to its own maxMessages", async (backend) => {
      const wide = backend.store({ maxMessages: 6, trimming: "exact" });
      const narrow = backend.otherStores({ maxMessages: 2, trimming: "exact" }).open(wide.threadId);
      await wide.addMessages(numbered(8));
      expect(await wide.listMessages()).toHaveLength(6);
      expect(await textsIn(narrow)).toEqual(["message 7", "message 8"]);
      await narrow.addMessages([user("a")]);
      expect(await textsIn(wide)).toEqual(["message 8", "a"]);
    });

    test("trimming uses the store's own traits", async (backend) => {
      interface Line {
        from: "human" | "model" | "rules";
        answers?: string;
      }
      const traits = {
        role: ({ from }: Line) => (({ human: "user", model: "assistant", rules: "system" }) as const)[from],
        toolCalls: () => [],
        toolResults: ({ answers }: Line) => (answers === undefined ? [] : [answers]),
      };
      const lines: Line[] = [
        { from: "rules" },
        { from: "human" },
        { from: "model" },
        { from: "human", answers: "call" },
        { from: "human" },
        { from: "model" },
      ];
      const store = createStores<Line>(backend.driver, { traits, maxMessages: 4 }).open();
      await store.addMessages(lines);
      expect(await store.listMessages()).toStrictEqual([lines[0], lines[4], lines[5]]);
    });

    test("trimmed messages are removed from the backend in time", async (backend) => {
      const { trimmedWithinCommits } = backend.driver.capabilities;
      expect(trimmedWithinCommits).toBeLessThanOrEqual(64);
      for (const mode of trimmings) {
        const store = backend.store({ maxMessages: 3, trimming: mode });
        const secrets = Array.from({ length: 9 }, (_, index) => `${crypto.randomUUID()}-${index}`);
        for (const secret of secrets.slice(0, 3)) await store.addMessages([user(secret)]);
        expect(await backend.harness.raw.dump(store.threadId)).toContain(secrets[2]);
        // The messages of a batch beyond maxMessages must not stay either.
        await store.addMessages([...secrets.slice(3).map(user), toolResult("late")]);
        await store.addMessages(numbered(3));
        for (let commit = 0; commit < trimmedWithinCommits; commit++)
          await store.addMessages(numbered(1, `${commit}`));
        const dump = await backend.harness.raw.dump(store.threadId);
        expect(
          secrets.filter((secret) => dump.includes(secret)),
          `not removed with "${mode}"`,
        ).toEqual([]);
      }
    });

    test("trimmed messages are removed from the backend in time, though nothing is trimmed after them", async (backend) => {
      const { trimmedWithinCommits } = backend.driver.capabilities;
      const store = backend.store({ maxMessages: 100, trimming: "exact" });
      const secrets = Array.from({ length: 70 }, (_, index) => `${crypto.randomUUID()}-${index}`);
      for (const secret of secrets) await store.addMessages([user(secret)]);
      await store.addMessages(numbered(40));
      for (let commit = 0; commit < trimmedWithinCommits; commit++) await store.commit({ metadata: commit });
      const dump = await backend.harness.raw.dump(store.threadId);
      expect(secrets.slice(0, 10).filter((secret) => dump.includes(secret))).toEqual([]);
      expect(dump).toContain(secrets[10]);
    });

    test("what clear or replaceMessages dropped is in no row or key of the backend once it returns", async (backend) => {
      for (const drop of ["clear", "replaceMessages"] as const) {
        const store = backend.store();
        const secrets = Array.from({ length: 7 }, () => crypto.randomUUID());
        for (const secret of secrets.slice(0, 4)) await store.addMessages([user(secret)]);
        await store.commit({ append: secrets.slice(4).map(user), metadata: { title: "secret title" } });
        const dump = () => backend.harness.raw.dump(store.threadId);
        expect(await dump()).toContain(secrets[0]);
        if (drop === "clear") await store.clear();
        else await store.replaceMessages([user("new")]);
        const after = await dump();
        expect(
          secrets.filter((secret) => after.includes(secret)),
          `not removed by ${drop}`,
        ).toEqual([]);
        expect(after.includes("secret title"), "metadata").toBe(drop === "replaceMessages");
      }
    });
  },
};
