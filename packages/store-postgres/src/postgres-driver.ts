import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type ErrorClassification,
  hostAndPort,
  type ListRequest,
  MAX_VALUE_BYTES,
  type ReadRequest,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { emitWarning } from "@scrollback/store-core/internal";
import { commitArguments, commitOutcomeOf, expectedArgument, outcomeOf } from "./commit.ts";
import { PostgresEntries } from "./entries.ts";
import { type ClientKind, classifyError } from "./errors.ts";
import { Functions } from "./functions.ts";
import { LIST_COLUMNS, listArguments, listingOf } from "./list.ts";
import { listenersOf } from "./listener.ts";
import { migrate, setupScript } from "./migrations.ts";
import { kindOf, locationOf, type PostgresSchema } from "./options.ts";
import { readThread } from "./read.ts";
import { type Session, sessionOf } from "./sessions.ts";
import { quote, toText } from "./text.ts";
import { Watches } from "./watches.ts";

/**
 * The driver for PostgreSQL. A thread is a row and rows of its messages; each verb calls one function of the schema, in one request. The files
 * in `sql` have the tables and functions.
 */
export class PostgresDriver implements Driver {
  readonly capabilities: DriverCapabilities;
  readonly target: DriverTarget;
  readonly index: PostgresEntries;
  /** A connection that was handed in may be in its owner's transaction, which an error ends. */
  readonly sendsOnce: boolean;
  readonly watch: Driver["watch"];
  readonly #session: Session;
  readonly #functions: Functions;
  readonly #schema: string;
  readonly #kind: ClientKind;
  readonly #server: string | undefined;
  readonly #watches: Watches | undefined;

  constructor(used: PostgresSchema) {
    const { client, schema } = used;
    this.#schema = schema;
    this.#kind = kindOf(used);
    this.#session = sessionOf(used);
    this.#functions = new Functions(this.#session, schema);
    this.sendsOnce = this.#kind === "connection" || this.#kind === "embedded";
    this.index = new PostgresEntries(this.#functions);
    const open = listenersOf(used);
    const watches = open && new Watches({ open, schema, onError: this.#warn });
    this.#watches = watches;
    this.watch = watches && ((threadId, onHint) => watches.watch(threadId, onHint));
    const { host = "", port = 0, database } = locationOf(client);
    this.#server = host === "" ? undefined : hostAndPort(host, port);
    this.target = {
      collection: "messages",
      ...(database && { namespace: database }),
      ...(host && !host.startsWith("/") && { server: { address: host, port } }),
    };
    const isEmbedded = this.#kind === "embedded";
    this.capabilities = Object.freeze({
      backend: "postgres",
      maxMessageBytes: 16 * 1024 ** 2,
      maxCommitBytes: 64 * 1024 ** 2,
      maxCommitMessages: Number.MAX_SAFE_INTEGER,
      sharing: isEmbedded ? "driver" : "network",
      expiry: true,
      trimmedWithinCommits: 0,
      // What is remembered of a deletion is removed by a later one, or by sweep_v1().
      deletedWithinMs: Number.MAX_SAFE_INTEGER,
      // The limit of pgvector.
      index: Object.freeze({
        maxValueBytes: MAX_VALUE_BYTES,
        vectors: Object.freeze({ maxDimensions: 16_000 }),
      }),
      roundTrips: Object.freeze(isEmbedded ? { commit: 0, read: 0 } : { commit: 1, read: 1 }),
    });
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    return commitOutcomeOf(await this.#functions.value("commit_v1", commitArguments(request)));
  }

  read(request: ReadRequest): Promise<ThreadView> {
    return readThread(this.#functions, request);
  }

  async delete({ threadId, operationId, expectedRevision }: DeleteRequest): Promise<DeleteOutcome> {
    const values = [toText(threadId), toText(operationId), expectedArgument(expectedRevision)];
    const { outcome, revision } = outcomeOf(await this.#functions.value("delete_v1", values));
    return outcome === "revision-conflict" ? { outcome, revision } : ({ outcome } as DeleteOutcome);
  }

  async list(request: ListRequest): Promise<ThreadListing> {
    return listingOf(await this.#functions.rows("list_threads_v1", LIST_COLUMNS, listArguments(request)));
  }

  async setup(): Promise<string | undefined> {
    const made = await migrate(this.#session, this.#schema);
    return made ? `the tables and functions in the schema ${quote(this.#schema)}` : undefined;
  }

  async setupScript(): Promise<string> {
    return setupScript(this.#schema);
  }

  async close(): Promise<void> {
    await Promise.all([this.#watches?.close(), this.#session.close()]);
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#server, this.#kind);
  }

  #hasWarned = false;

  /** Warns of the first failure of the connection that listens, whose hints nobody would miss. */
  readonly #warn = (error: unknown): void => {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    // The connection may have another server and login than the rest.
    const message = classifyError(error, undefined, "pool")?.message ?? "postgres: see the server's log";
    emitWarning(`listen: hints come late until a connection is open again: ${message}`);
  };
}
