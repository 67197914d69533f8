import { pause, StoreError } from "@scrollback/store-core";

const MAX_ATTEMPTS = 20;
/** Another writer made progress, so the pauses stay below 200 ms. */
const LONGEST_PAUSE = 3;

/** Runs a read and the write that depends on it. Repeats both when another process has written meanwhile, at most 20 times. */
export async function retried<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
    }
    await pause(Math.min(attempt, LONGEST_PAUSE));
  }
}
