import { randomInt } from "node:crypto";
import { expect } from "vitest";
import type { Clause } from "../clause.ts";
import { expectExplained, observeHere, observeProcesses } from "../observed/run.ts";

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
      const task = { seed, seconds: SECONDS, actions: 52, pauseMs: 12 };
      const { childProcess } = backend.harness;
      const run = await (childProcess
        ? observeProcesses(backend, childProcess, task)
        : observeHere(backend, task));
      await expectExplained(run, `seed ${seed},`);
      expect(run.observations.length, "observations").toBeGreaterThan(100);
    });
  },
};
