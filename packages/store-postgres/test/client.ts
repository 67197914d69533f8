import { parseOptions } from "../src/options.ts";
import { PostgresDriver } from "../src/postgres-driver.ts";

/** A schema on a server. Plain data, because it is sent to child processes. */
export interface Namespace {
  readonly url: string;
  readonly schema: string;
}

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): PostgresDriver {
  const { url, schema } = data as Namespace;
  return new PostgresDriver(parseOptions({ url, schema }).used);
}
