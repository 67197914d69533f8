import { DatabaseSync } from "node:sqlite";
import type { DurableObjectStorage } from "../src/durable-object-client.ts";

/** The storage of a Durable Object, in this process's memory. */
export function makeStorage(): DurableObjectStorage & {
  getAlarm(): Promise<null>;
  readonly database: DatabaseSync;
} {
  const database = new DatabaseSync(":memory:");
  return {
    database,
    sql: { exec: (sql, ...values) => ({ toArray: () => database.prepare(sql).all(...values) }) },
    transactionSync(transaction) {
      database.exec("BEGIN");
      try {
        const result = transaction();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    getAlarm: async () => null,
  };
}
