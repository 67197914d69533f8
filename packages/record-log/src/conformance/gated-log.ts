import type { ErrorClassification } from "@scrollback/store-core/driver";
import type { Amendment, LogRow, RecordLog, StreamPage, StreamsRequest } from "../index.ts";

export type Verb = "insert" | "read" | "amend" | "streams";

/** Runs before and after each request of a log. Either may delay the request, also forever. */
export interface Gate {
  /** `stream` is `""` for the verb `streams`, which applies to all streams. */
  before(verb: Verb, stream: string): Promise<void>;
  after?(): void;
}

/** A log with a gate around each request. */
export class GatedLog implements RecordLog {
  readonly capabilities;
  readonly #log: RecordLog;
  readonly #gate: Gate;

  constructor(log: RecordLog, gate: Gate) {
    this.#log = log;
    this.#gate = gate;
    this.capabilities = log.capabilities;
  }

  insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    return this.#pass("insert", stream, () => this.#log.insert(stream, row));
  }

  read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    return this.#pass("read", stream, () => this.#log.read(stream, below, limit, heads));
  }

  amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    return this.#pass("amend", stream, () => this.#log.amend(stream, amendments));
  }

  streams(request: StreamsRequest): Promise<StreamPage> {
    return this.#pass("streams", "", () => this.#log.streams(request));
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return this.#log.classifyError(error);
  }

  async #pass<T>(verb: Verb, stream: string, request: () => Promise<T>): Promise<T> {
    await this.#gate.before(verb, stream);
    try {
      return await request();
    } finally {
      this.#gate.after?.();
    }
  }
}
