import { randomInt } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { expect } from "vitest";
import type { Clause } from "../clause.ts";
import { explain } from "../observed/explain.ts";
import { observeRun } from "./history-run.ts";

/** The duration of a run; long with `SCROLLBACK_DEEP=1`. */
const SECONDS = Number(
  process.env.CONFORMANCE_HISTORY_SECONDS ?? (process.env.SCROLLBACK_DEEP === "1" ? 60 : 5),
);

export const history: Clause = {
  title: "One order explains all that was observed",
  concurrent: true,
  // Calls during faults continue for some seconds, and a busy machine needs time to start processes.
  timeoutMs: SECONDS * 1_000 + 90_000,
  declare(test) {
    test("of many clients that are cut off and killed, see clauses C1 to C6, C11, C17 and C18", async (backend) => {
      const seed = process.env.CONFORMANCE_SEED ?? String(randomInt(2 ** 31));
      console.log(`history of ${SECONDS} s; CONFORMANCE_SEED=${seed} lets the clients do the same again`);
      const { log, threads, observations } = await observeRun(backend, seed, SECONDS);
      const problems = threads.flatMap((thread) =>
        explain(
          observations.filter((observation) => observation.thread === thread.threadId),
          thread,
        ),
      );
      expect(problems.slice(0, 5), `unexplained observations; seed ${seed}, log ${log}`).toEqual([]);
      expect(observations.length, "observations").toBeGreaterThan(100);
      await rm(dirname(log), { recursive: true });
    });
  },
};
