import type { StoreFactory } from "@scrollback/store-core";
import { skippingCorruptRecords } from "../context/open-backend.ts";

/** The time between two looks at a thread: with hints of the backend, and without. */
const LOOK_MS = { hinted: 10_000, unhinted: 1_000 };
/** A request ends before a browser gives it up. */
const WAIT_MS = 25_000;

/** Waits until a thread is at another revision than this one, for at most 25 s. Returns its revision; empty: it does not exist. */
export async function waitForChange(
  stores: StoreFactory<unknown>,
  threadId: string,
  known: string,
  signal: AbortSignal,
): Promise<string> {
  let wake: () => void = () => undefined;
  let isHinted = false;
  const onHint = () => {
    isHinted = true;
    wake();
  };
  signal.addEventListener("abort", onHint);
  const watch = stores.watch(threadId, onHint);
  const end = performance.now() + WAIT_MS;
  try {
    for (;;) {
      isHinted = false;
      const { revision } = await skippingCorruptRecords(
        () => undefined,
        () => stores.open(threadId).read({ limit: 0, signal }),
      );
      if ((revision ?? "") !== known || performance.now() >= end) return revision ?? "";
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, watch ? LOOK_MS.hinted : LOOK_MS.unhinted);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        // A hint may have come during the read.
        if (isHinted) wake();
      });
    }
  } finally {
    watch?.[Symbol.dispose]();
    signal.removeEventListener("abort", onHint);
  }
}
