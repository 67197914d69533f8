import { RecordLogDriver } from "@scrollback/record-log";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";

/** A collection on a server. Plain data, because it is sent to child processes. */
export interface Namespace {
  readonly url: string;
  readonly database: string;
  readonly collectionName: string;
}

export function openLog(namespace: Namespace): MongoRecordLog {
  return new MongoRecordLog(parseOptions(namespace).collection);
}

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): RecordLogDriver {
  return new RecordLogDriver(openLog(data as Namespace));
}
