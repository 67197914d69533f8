import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { answerTo, questionOf, TOOL_RESULT } from "../src/frameworks/contestant.ts";
import { localContestants } from "../src/frameworks/contestants.ts";
import { countTurns } from "../src/frameworks/measure.ts";

// As in the benchmark: nothing else observes the stores.
process.env.OTEL_SDK_DISABLED = "true";
const folder = mkdtempSync(join(tmpdir(), "scrollback-bench-frameworks-"));
const contestants = localContestants(folder);
after(async () => {
  for (const contestant of contestants) await contestant.close();
  rmSync(folder, { recursive: true, force: true });
});

for (const contestant of contestants) {
  const { framework, backend, name, isOurs } = contestant;
  test(`${name} on ${backend}: a thread has its own turns only, whole and in order`, async () => {
    for (const [threadId, turn] of [
      ["a", 0],
      ["b", 7],
      ["a", 1],
    ] as const)
      await contestant.turn(threadId, questionOf(turn));
    const said = [0, 1].flatMap((turn) => {
      const question = questionOf(turn);
      return framework === "LangGraph"
        ? [question, answerTo(question)]
        : [question, TOOL_RESULT, answerTo(question)];
    });
    assert.deepEqual(await contestant.read("a"), said);
    assert.equal((await contestant.read("b"))[0], questionOf(7));
  });

  test(`${name} on ${backend}: requests are counted for Scrollback, bytes for the data at rest`, async () => {
    const { commits, reads, roundTrips, bytes } = await countTurns(contestant, () => 0);
    assert.equal(roundTrips, undefined);
    assert.equal(bytes !== undefined, backend === "SQLite");
    if (bytes !== undefined) assert.ok(bytes > answerTo(questionOf(0)).length);
    if (!isOurs) assert.deepEqual([commits, reads], [undefined, undefined]);
    else if (framework === "LangGraph") assert.deepEqual([commits, reads], [5, 1]);
    else assert.deepEqual([commits, reads], [1, 1]);
  });
}

test("a contestant that loses a message is detected", async () => {
  const [contestant] = contestants;
  assert.ok(contestant);
  const forgetful = { ...contestant, read: async (id: string) => (await contestant.read(id)).slice(1) };
  await assert.rejects(
    countTurns(forgetful, () => 0),
    { code: "ERR_ASSERTION" },
  );
});
