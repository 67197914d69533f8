import { invalid } from "@scrollback/store-core";

/** Where a page of a listing ended. */
export interface ScanCursor {
  /** What the servers were when this pass over them began: see `topologyOf`. */
  readonly topology: string;
  /** Which server is being scanned, and which process of it: another one's `SCAN` goes another way. */
  readonly server: string;
  readonly process: string;
  /** Of its `SCAN`: the cursor of the step to make. */
  readonly step: string;
  /**
   * Where the step was taken in part: the cursor that it returned, and the mark of the last key that was taken, in the order of
   * the marks. A step that returns this cursor again has the same part of the keys to tell of.
   */
  readonly taken: { readonly next: string; readonly mark: string } | undefined;
}

const CURSOR_FORM =
  /^([\da-f]{16})\.([\da-f]{16})\.([\da-f]{16})\.(\d{1,20})(?:\.(\d{1,20})\.([\da-f]{16}))?$/;

export function formatCursor({ topology, server, process, step, taken }: ScanCursor): string {
  return [topology, server, process, step, ...(taken ? [taken.next, taken.mark] : [])].join(".");
}

/** @throws StoreError `INVALID_ARGUMENT` for what is no cursor. */
export function parseCursor(cursor: string): ScanCursor {
  const [, topology = "", server = "", process = "", step = "", next, mark] = CURSOR_FORM.exec(cursor) ?? [];
  if (topology === "" || !isUnsigned64(step) || !isUnsigned64(next ?? "0"))
    invalid("cursor must be one that listThreads() gave");
  const taken = next === undefined || mark === undefined ? undefined : { next, mark };
  return { topology, server, process, step, taken };
}

function isUnsigned64(digits: string): boolean {
  return BigInt(digits) < 2n ** 64n;
}
