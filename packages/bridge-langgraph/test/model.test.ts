import { emptyCheckpoint, MemorySaver } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, metadata } from "./checkpoints.ts";

const threadId = fc.constantFrom("t", "u");
const namespace = fc.constantFrom("", "child");
/** Few ids in random order: so parents may be absent, later or siblings, and checkpoints may be put twice. */
const id = fc.integer({ min: 1, max: 12 }).map((n) => String(n).padStart(2, "0"));
const value = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom("x".repeat(3_000), "y".repeat(40_000), new Map([["k", 1]]), undefined),
);

const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      ...{ threadId, namespace, id, parent: fc.option(id, { nil: undefined }) },
      /** The changed channels; the other values are those of the parent checkpoint. */
      values: fc.dictionary(fc.constantFrom("a", "b", "c", "__proto"), value),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("writes" as const),
      ...{ threadId, namespace, id },
      taskId: fc.constantFrom("task", "other"),
      taskPath: fc.constantFrom("", "~b", "~a"),
      writes: fc.array(fc.tuple(fc.constantFrom("a", "b", "__error__", "__interrupt__"), value), {
        maxLength: 4,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), threadId }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
);

/** Two savers get the same calls, and must return the same results. */
test("a saver has the same content as LangGraph's own after any sequence of calls", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const own = new MemorySaver();
      const stores = createMemoryStores();
      let saver = new ScrollbackSaver({ stores });
      for (const one of commands) {
        if (one.kind === "reopen") saver = new ScrollbackSaver({ stores });
        else if (one.kind === "delete") {
          for (const each of [own, saver]) await each.deleteThread(one.threadId);
        } else if (one.kind === "writes") {
          // Of several special writes in one call, MemorySaver keeps the one that is serialized last.
          const special = one.writes.filter(([channel]) => channel.startsWith("__"));
          if (new Set(special.map(([channel]) => channel)).size < special.length) continue;
          const config = configOf(one.threadId, one.id, one.namespace);
          for (const each of [own, saver]) await each.putWrites(config, one.writes, one.taskId, one.taskPath);
        } else {
          // Like LangGraph: the values of the parent, overwritten by the new ones, and incremented versions.
          const config = configOf(one.threadId, one.parent, one.namespace);
          const parent = one.parent === undefined ? undefined : await own.get(config);
          const written = Object.keys(one.values);
          const newVersions = Object.fromEntries(
            written.map((channel) => [channel, Number(parent?.channel_versions[channel] ?? 0) + 1]),
          );
          const checkpoint = {
            ...{ ...emptyCheckpoint(), id: one.id },
            channel_values: { ...parent?.channel_values, ...one.values },
            channel_versions: { ...parent?.channel_versions, ...newVersions },
          };
          for (const each of [own, saver]) await each.put(config, checkpoint, metadata, newVersions);
        }
      }
      for (const thread of ["t", "u"]) {
        for (const ns of ["", "child"]) {
          const config = configOf(thread, undefined, ns);
          expect(await listed(saver.list(config))).toEqual(await listed(own.list(config)));
          expect(await saver.getTuple(config)).toEqual(await own.getTuple(config));
          for (const known of ["01", "05", "12"]) {
            const place = configOf(thread, known, ns);
            expect(await saver.getTuple(place)).toEqual(await own.getTuple(place));
          }
        }
      }
    }),
    { numRuns: rounds(100, 300) },
  );
});
