import { RecordLogDriver } from "@scrollback/store-core";
import { parseOptions } from "../src/options.ts";
import { PostgresRecordLog } from "../src/postgres-log.ts";

/** A table on a server. Plain data, because it is sent to child processes. */
export interface Namespace {
  readonly url: string;
  readonly tableName: string;
}

export function openLog({ url, tableName }: Namespace): PostgresRecordLog {
  return new PostgresRecordLog(parseOptions({ url, tableName }).table);
}

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): RecordLogDriver {
  return new RecordLogDriver(openLog(data as Namespace));
}
