import { type LogRow, MemoryRecordLog } from "../../src/index.ts";

/** The rows of a log in a golden file, by stream. */
export type StoredLog = Readonly<Record<string, readonly LogRow[]>>;

/** Smaller than the rows of a log may be: 3 KiB fit beside a head, so that a message of some kilobytes is split across rows. */
const MAX_ROW_BYTES = 19 * 1024;

/** A log that remembers the names of its streams. */
export class NamedLog extends MemoryRecordLog {
  readonly #streams = new Set<string>();

  constructor() {
    super(MAX_ROW_BYTES);
  }

  override insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    this.#streams.add(stream);
    return super.insert(stream, row);
  }

  async stored(): Promise<StoredLog> {
    const stored: Record<string, readonly LogRow[]> = {};
    for (const stream of this.#streams) {
      const rows = await this.read(stream, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
      stored[stream] = rows.reverse();
    }
    return stored;
  }
}

/** A log with these rows. */
export async function logOf(stored: StoredLog): Promise<MemoryRecordLog> {
  const log = new MemoryRecordLog(MAX_ROW_BYTES);
  for (const [stream, rows] of Object.entries(stored)) {
    for (const row of rows) await log.insert(stream, row);
  }
  return log;
}
