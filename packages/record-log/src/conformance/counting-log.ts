import type { ErrorClassification } from "@scrollback/store-core/driver";
import type { Amendment, LogRow, RecordLog, StreamPage, StreamsRequest } from "../index.ts";
import type { Verb } from "./gated-log.ts";

/**
 * A log that counts the calls of its verbs, for a backend on which each call is one request. If a verb sends more requests, count
 * those of the client instead.
 */
export class CountingLog implements RecordLog {
  readonly capabilities;
  readonly target;
  readonly setup?: () => Promise<void>;
  /** The verbs called so far, oldest first. Clear it to start again. */
  readonly sent: Verb[] = [];
  readonly #log: RecordLog;
  #count = 0;

  constructor(log: RecordLog) {
    this.#log = log;
    this.capabilities = log.capabilities;
    this.target = log.target;
    if (log.setup) this.setup = () => this.#counted("setup", () => log.setup?.() ?? Promise.resolve());
  }

  /** The number of requests sent so far, including those of `setup`. */
  get requestCount(): number {
    return this.#count;
  }

  insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    return this.#counted("insert", () => this.#log.insert(stream, row));
  }

  read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    return this.#counted("read", () => this.#log.read(stream, below, limit, heads));
  }

  amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    return this.#counted("amend", () => this.#log.amend(stream, amendments));
  }

  streams(request: StreamsRequest): Promise<StreamPage> {
    return this.#counted("streams", () => this.#log.streams(request));
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return this.#log.classifyError(error);
  }

  #counted<T>(verb: Verb | "setup", request: () => Promise<T>): Promise<T> {
    this.#count++;
    if (verb !== "setup") this.sent.push(verb);
    return request();
  }
}
