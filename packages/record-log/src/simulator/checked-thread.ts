import type { SimulatedBackend } from "./backend.ts";
import { RestChecks } from "./check-rest.ts";
import type { SimulatedClient } from "./client.ts";
import type { Counters } from "./faults.ts";
import type { Operation, Text } from "./operation.ts";
import type { Scheduler } from "./scheduler.ts";
import { SimulatedThread } from "./thread.ts";
import { ThreadModel } from "./thread-model.ts";

const COLLECT_EVERY = 32;

export interface CheckedThreadOptions {
  readonly threadId: string;
  readonly scheduler: Scheduler;
  readonly counters: Counters;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly texts: ReadonlyMap<string, Text>;
  readonly clients: readonly SimulatedClient[];
  readonly backend: SimulatedBackend;
  /** Called with the head of every commit. */
  readonly onHead: (head: string) => void;
}

/** Makes a thread at the backend. A model follows each of its rows, and the stored rows are checked. */
export function createCheckedThread(options: CheckedThreadOptions): SimulatedThread {
  const { threadId, operations, texts, scheduler, counters, clients, backend, onHead } = options;
  const model = new ThreadModel({
    ...{ threadId, operations, scheduler, counters },
    oldestNeeded: () =>
      Math.min(
        ...clients.flatMap(({ calls }) => [...calls].map(({ since }) => since)),
        Number.POSITIVE_INFINITY,
      ),
  });
  const trimmedWithinCommits = clients[0]?.driver.capabilities.trimmedWithinCommits ?? 0;
  const rest = new RestChecks(model, texts, counters, trimmedWithinCommits);
  model.onCommit = ({ head, row }, state, before, operation) => {
    if (!head) return;
    onHead(row.head);
    const first = head.n - (head.earlier?.length ?? 0);
    // The row has raised the count to a multiple, or past one.
    if (Math.floor(head.n / COLLECT_EVERY) < Math.ceil(first / COLLECT_EVERY)) return;
    rest.checkCollected(head, state, before, operation);
    if (model.livingState) rest.checkStored(state);
  };
  model.onRow = (head, state, end) => {
    if (head.promisedUntil !== end?.promisedUntil && model.possibleState) rest.checkPromise(head, state);
  };
  backend.add(threadId, model.rows, model);
  return new SimulatedThread(threadId, model.rows, { model, rest });
}
