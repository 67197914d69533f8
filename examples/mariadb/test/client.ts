import { RecordLogDriver } from "@scrollback/record-log";
import { MariadbRecordLog } from "../src/mariadb-log.ts";
import { parseOptions } from "../src/options.ts";

/** A table on a server. Plain data, because it is sent to child processes. */
export interface Namespace {
  readonly url: string;
  readonly tableName: string;
}

export function openLog({ url, tableName }: Namespace): MariadbRecordLog {
  return new MariadbRecordLog(parseOptions({ url, tableName }).table);
}

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): RecordLogDriver {
  return new RecordLogDriver(openLog(data as Namespace));
}
