import type { SqliteClient } from "@scrollback/documents/sqlite";
import { PendingCalls } from "@scrollback/store-core/driver";
import { common } from "./capabilities.ts";
import { classifyDurableObject } from "./errors.ts";

/** The part of a Durable Object's `ctx.storage` that the stores use. */
export interface DurableObjectStorage {
  readonly sql: {
    exec(sql: string, ...values: (string | number | null)[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<T>(transaction: () => T): T;
}

export const capabilities = Object.freeze({ backend: "durable-object", sharing: "driver", ...common });

/** SQL in the storage of this Durable Object. The runtime holds back what the object sends until its writes are durable. */
export class DurableObjectClient implements SqliteClient {
  readonly capabilities = capabilities;
  readonly #storage: DurableObjectStorage;
  readonly #calls = new PendingCalls();

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  batch(statements: Parameters<SqliteClient["batch"]>[0]) {
    return this.#calls.run(async () =>
      this.#storage.transactionSync(() =>
        statements.map(({ sql, parameters }) => this.#storage.sql.exec(sql, ...parameters).toArray()),
      ),
    );
  }

  close(): Promise<void> {
    return this.#calls.close(() => undefined);
  }

  classifyError = classifyDurableObject;
}
