import type { StoreFactory } from "@scrollback/store-core";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import { type JobName, jobs, type Progress } from "./jobs.ts";

// The program of a second process: receives one assignment over IPC, does it with its own client, replies, and ends.

/** The message that the suite sends to a worker. */
interface Assignment {
  readonly module: string;
  readonly data: unknown;
  readonly job: JobName;
  readonly input: never;
  /** The error of this process's clock in milliseconds. */
  readonly clockOffsetMs: number;
}

/** The messages that a worker sends back: progress, then its end or an error. */
export type Report = { progress: string } | { isDone: true } | { error: string };

process.once("message", async ({ module, data, job, input, clockOffsetMs }: Assignment) => {
  const now = Date.now;
  if (clockOffsetMs !== 0) Date.now = () => now() + clockOffsetMs;
  const send = (report: Report, sent = () => {}) => process.send?.(report, sent);
  let last: Report;
  try {
    const { connect } = (await import(module)) as { connect(data: unknown): Driver };
    const stores = createStores(connect(data));
    const run: (stores: StoreFactory, input: never, progress: Progress) => Promise<unknown> = jobs[job];
    await run(stores, input, (progress) => send({ progress }));
    await stores.close();
    last = { isDone: true };
  } catch (error) {
    last = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  send(last, () => process.exit());
});
