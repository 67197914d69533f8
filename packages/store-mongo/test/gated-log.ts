import type { Amendment, ErrorClass, LogRow, RecordLog } from "@scrollback/store-core";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import type { Namespace } from "./client.ts";

type Verb = "insert" | "read" | "amend";

/** What stands before and after each request of a log; both may hold it back, for ever too. */
export interface Gate {
  before(verb: Verb): Promise<void>;
  after?(): Promise<void>;
}

/** A log on a real collection whose requests pass a gate. */
export class GatedLog implements RecordLog {
  readonly #log: MongoRecordLog;
  readonly #gate: Gate;
  readonly capabilities;

  constructor({ url, database, collectionName }: Namespace, gate: Gate) {
    this.#log = new MongoRecordLog(parseOptions({ url, database, collectionName }).place);
    this.#gate = gate;
    this.capabilities = this.#log.capabilities;
  }

  insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    return this.#pass("insert", () => this.#log.insert(stream, row));
  }

  read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    return this.#pass("read", () => this.#log.read(stream, below, limit, heads));
  }

  amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    return this.#pass("amend", () => this.#log.amend(stream, amendments));
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  classifyError(error: unknown): ErrorClass | undefined {
    return this.#log.classifyError(error);
  }

  async #pass<T>(verb: Verb, request: () => Promise<T>): Promise<T> {
    await this.#gate.before(verb);
    try {
      return await request();
    } finally {
      await this.#gate.after?.();
    }
  }
}
