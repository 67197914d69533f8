import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type ErrorClassification,
  type ListRequest,
  MAX_VALUE_BYTES,
  PendingCalls,
  type ReadRequest,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { type Clock, systemClock } from "@scrollback/store-core/internal";
import { Commits } from "./commit.ts";
import { endpointOf } from "./endpoint.ts";
import { DynamoEntries } from "./entries.ts";
import { classifyError, withoutRequest } from "./errors.ts";
import { storedHeadOf } from "./head.ts";
import { listThreads } from "./list.ts";
import type { DynamoConnection } from "./options.ts";
import { readThread } from "./read.ts";
import { deleteThread } from "./remove.ts";
import { entriesName, setUpTable, tablesOf } from "./setup.ts";
import { DynamoTable, type TableSource } from "./table.ts";

const capabilities: DriverCapabilities = Object.freeze({
  backend: "dynamodb",
  maxMessageBytes: 16 * 1024 ** 2,
  maxCommitBytes: 64 * 1024 ** 2,
  maxCommitMessages: 100_000,
  sharing: "network",
  expiry: true,
  trimmedWithinCommits: 0,
  // The head of a deleted thread expires after 15 minutes; DynamoDB deletes it within a few days.
  deletedWithinMs: 7 * 24 * 60 * 60_000,
  index: Object.freeze({ maxValueBytes: MAX_VALUE_BYTES }),
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
});

/** The driver for two DynamoDB tables: one of threads, and one of entries. item.ts has the layout, plan.ts what a commit writes. */
export class DynamoDriver implements Driver {
  readonly capabilities: DriverCapabilities = capabilities;
  readonly target: DriverTarget;
  readonly index: DynamoEntries;
  readonly #client: DynamoDBClient;
  readonly #tableName: string;
  readonly #owned: boolean;
  readonly #calls = new PendingCalls();
  readonly #table: DynamoTable;
  readonly #commits: Commits;
  readonly #now: () => number;
  /** Set after a request has failed. */
  #endpoint: string | undefined;

  /** @param clock for tests. Default: that of the process. */
  constructor({ client, tableName, owned }: DynamoConnection, clock: Pick<Clock, "wall"> = systemClock) {
    this.#client = client;
    this.#tableName = tableName;
    this.#owned = owned;
    this.target = { collection: tableName };
    const send: TableSource["send"] = (request) => this.#send(request);
    this.#now = () => clock.wall();
    this.#table = new DynamoTable({ client, tableName, send, signal: this.#calls.signal });
    this.#commits = new Commits(this.#table, this.#now);
    this.index = new DynamoEntries({ client, tableName: entriesName(tableName), send });
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    return await this.#commits.commit(request);
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    return await readThread(this.#table, request, this.#now, (item) =>
      this.#commits.learn(request.threadId, storedHeadOf(item), false),
    );
  }

  async delete(request: DeleteRequest): Promise<DeleteOutcome> {
    return await deleteThread(this.#table, request, this.#now, (dead) =>
      this.#commits.learn(request.threadId, dead, true),
    );
  }

  async list(request: ListRequest): Promise<ThreadListing> {
    return await listThreads(this.#table, request, this.#now());
  }

  async setup(): Promise<string | undefined> {
    const made: string[] = [];
    for (const table of tablesOf(this.#tableName)) {
      if (await this.#send(() => setUpTable(this.#client, table))) made.push(`the table ${table.tableName}`);
    }
    return made.length > 0 ? made.join(" and ") : undefined;
  }

  async close(): Promise<void> {
    await this.#calls.close(() => this.#owned && this.#client.destroy());
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#endpoint);
  }

  #send<T>(request: (how: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
    return this.#calls.run(async () => {
      try {
        return await request({ abortSignal: this.#calls.signal });
      } catch (error) {
        this.#endpoint ??= await endpointOf(this.#client);
        throw withoutRequest(error);
      }
    });
  }
}
