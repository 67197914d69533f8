import type { Driver } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { type RecordLog, RecordLogDriver } from "../src/index.ts";

/** A driver that discards its state before each commit, including the knowledge that it may have made the same commit before. */
export function brokenDriver(log: RecordLog, clock: Clock): Driver {
  const driver = new RecordLogDriver(log, { clock });
  let attempts = 0;
  return {
    capabilities: driver.capabilities,
    // A retry has another operation id, but the rows by which the simulator identifies the operation.
    commit: (request) => new RecordLogDriver(renaming(log, ++attempts), { clock }).commit(request),
    read: (request) => driver.read(request),
    delete: (request) => driver.delete(request),
    list: (request) => driver.list(request),
    close: () => driver.close(),
    classifyError: (error) => driver.classifyError(error),
  };
}

/** A log that hides from its readers which operation made which commit. */
function renaming(log: RecordLog, attempt: number): RecordLog {
  return {
    capabilities: log.capabilities,
    insert: (stream, row) => log.insert(stream, row),
    read: async (stream, below, limit, heads) => {
      const rows = await log.read(stream, below, limit, heads);
      return rows.map((row) => ({ ...row, head: row.head.replace(/"o":"(o\d+)"/, `"o":"$1-${attempt}"`) }));
    },
    amend: (stream, amendments) => log.amend(stream, amendments),
    streams: (request) => log.streams(request),
    close: () => log.close(),
    classifyError: (error) => log.classifyError(error),
  };
}
