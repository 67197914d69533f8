import { Client, type PoolConfig } from "pg";
import { parseOptions } from "../src/options.ts";
import { PostgresRecordLog } from "../src/postgres-log.ts";
import type { Namespace } from "./client.ts";

/** What a connection was asked. */
export interface SentQuery {
  readonly text: string;
  readonly name?: string | undefined;
  readonly values?: unknown[] | undefined;
}

/** A class of connections that note in `sent` what they are asked. A pool takes it as its option `Client`. */
export function watchedClient(sent: SentQuery[]): PoolConfig["Client"] {
  return class extends Client {
    override query(...asked: unknown[]) {
      const [query] = asked;
      sent.push(typeof query === "string" ? { text: query } : (query as SentQuery));
      return Reflect.apply(super.query, this, asked);
    }
  } as unknown as PoolConfig["Client"];
}

/** A log, and the queries that it sends. */
export function watchedLog(
  { url, tableName }: Namespace,
  sent: SentQuery[] = [],
): { log: PostgresRecordLog; sent: SentQuery[] } {
  const { table } = parseOptions({ url, tableName });
  Reflect.set(table.client, "Client", watchedClient(sent));
  return { log: new PostgresRecordLog(table), sent };
}

/** The verbs of the queries that were sent, which are then forgotten. */
export function takeVerbs(sent: SentQuery[]): string[] {
  return sent.splice(0).map(({ text }) => text.split(" ")[0] ?? "");
}
