import { Client, type PoolConfig } from "pg";
import { parseOptions } from "../src/options.ts";
import { PostgresDriver } from "../src/postgres-driver.ts";
import type { Namespace } from "./client.ts";

/** A query that was sent on a connection. */
export interface SentQuery {
  readonly text: string;
  readonly values?: unknown[] | undefined;
}

/** A class of connections that record their queries in `sent`. A pool accepts it as its option `Client`. */
function watchedClient(sent: SentQuery[]): PoolConfig["Client"] {
  return class extends Client {
    override query(...asked: unknown[]) {
      const [query] = asked;
      sent.push(typeof query === "string" ? { text: query } : (query as SentQuery));
      return Reflect.apply(super.query, this, asked);
    }
  } as unknown as PoolConfig["Client"];
}

/** A driver, and a record of its queries. */
export function watchedDriver(
  { url, schema }: Namespace,
  sent: SentQuery[] = [],
): { driver: PostgresDriver; sent: SentQuery[] } {
  const { used } = parseOptions({ url, schema });
  Reflect.set(used.client, "Client", watchedClient(sent));
  return { driver: new PostgresDriver(used), sent };
}
