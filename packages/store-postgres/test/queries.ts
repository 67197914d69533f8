import { Client, type PoolConfig } from "pg";
import { parseOptions } from "../src/options.ts";
import { PostgresRecordLog } from "../src/postgres-log.ts";
import type { Namespace } from "./client.ts";

/** A query that was sent on a connection. */
export interface SentQuery {
  readonly text: string;
  readonly name?: string | undefined;
  readonly values?: unknown[] | undefined;
}

/** A class of connections that record their queries in `sent`. A pool accepts it as its option `Client`. */
export function watchedClient(sent: SentQuery[]): PoolConfig["Client"] {
  return class extends Client {
    override query(...asked: unknown[]) {
      const [query] = asked;
      sent.push(typeof query === "string" ? { text: query } : (query as SentQuery));
      return Reflect.apply(super.query, this, asked);
    }
  } as unknown as PoolConfig["Client"];
}

/** A log, and a record of its queries. */
export function watchedLog(
  { url, tableName }: Namespace,
  sent: SentQuery[] = [],
): { log: PostgresRecordLog; sent: SentQuery[] } {
  const { table } = parseOptions({ url, tableName });
  Reflect.set(table.client, "Client", watchedClient(sent));
  return { log: new PostgresRecordLog(table), sent };
}

/** Returns the verbs of the recorded queries, and clears the record. */
export function takeVerbs(sent: SentQuery[]): string[] {
  return sent.splice(0).map(({ text }) => text.split(" ")[0] ?? "");
}
