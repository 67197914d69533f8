import type { SqliteClient } from "@scrollback/documents/sqlite";
import { PendingCalls, REQUEST_TIMEOUT_MS } from "@scrollback/store-core/driver";
import { common } from "./capabilities.ts";
import { classifyD1 } from "./errors.ts";

/** The part of a D1 binding that the stores use. */
export interface D1 {
  withSession(constraint: "first-primary"): {
    prepare(sql: string): D1Statement;
    batch(statements: D1Statement[]): Promise<readonly { readonly results: readonly unknown[] }[]>;
  };
}

interface D1Statement {
  bind(...values: unknown[]): D1Statement;
}

type Rows = Awaited<ReturnType<SqliteClient["batch"]>>;

/** SQL on D1: each batch in a session of its own, whose first request goes to the primary. */
export class D1Client implements SqliteClient {
  readonly capabilities = Object.freeze({ backend: "d1", sharing: "network", ...common });
  readonly #database: D1;
  readonly #calls = new PendingCalls();

  constructor(database: D1) {
    this.#database = database;
  }

  batch(statements: Parameters<SqliteClient["batch"]>[0]): Promise<Rows> {
    return this.#calls.run(async () => {
      const session = this.#database.withSession("first-primary");
      const results = await session.batch(
        statements.map(({ sql, parameters }) => session.prepare(sql).bind(...parameters)),
      );
      return results.map(({ results }) => results) as Rows;
    }, REQUEST_TIMEOUT_MS);
  }

  close(): Promise<void> {
    return this.#calls.close(() => undefined);
  }

  classifyError = classifyD1;
}
