import { invalid } from "@scrollback/store-core/driver";

/** The position where a page of a listing ended. */
export interface ScanCursor {
  /** The topology when this pass over the servers began: see `topologyOf`. */
  readonly topology: string;
  /** The server that is being scanned, and its process: `SCAN` cursors of another process have another meaning. */
  readonly server: string;
  readonly process: string;
  /** The cursor of the next `SCAN` step. */
  readonly step: string;
  /**
   * If only a part of the step's keys was taken: the cursor that the step returned, and the mark of the last taken key. Keys
   * are taken in the order of their marks. If the repeated step returns the same cursor, keys up to that mark are skipped.
   */
  readonly taken: { readonly next: string; readonly mark: string } | undefined;
}

const CURSOR_FORM =
  /^([\da-f]{16})\.([\da-f]{16})\.([\da-f]{16})\.(\d{1,20})(?:\.(\d{1,20})\.([\da-f]{16}))?$/;

export function formatCursor({ topology, server, process, step, taken }: ScanCursor): string {
  return [topology, server, process, step, ...(taken ? [taken.next, taken.mark] : [])].join(".");
}

/** @param caller the verb, for the error. @throws StoreError `INVALID_ARGUMENT` for an invalid cursor. */
export function parseCursor(caller: "listThreads" | "listIndexes", cursor: string): ScanCursor {
  const [, topology = "", server = "", process = "", step = "", next, mark] = CURSOR_FORM.exec(cursor) ?? [];
  if (topology === "" || !isUnsigned64(step) || !isUnsigned64(next ?? "0"))
    invalid(`${caller}: cursor must be one that ${caller}() gave`);
  const taken = next === undefined || mark === undefined ? undefined : { next, mark };
  return { topology, server, process, step, taken };
}

function isUnsigned64(digits: string): boolean {
  return BigInt(digits) < 2n ** 64n;
}
