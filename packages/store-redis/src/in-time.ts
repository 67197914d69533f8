import { REQUEST_TIMEOUT_MS } from "@scrollback/store-core/driver";
import { TIMED_OUT } from "./errors.ts";

/** Gives a request up after the time limit: then the signal keeps it from being sent, if it was not sent yet. */
export function inTime<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const giveUp = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(TIMED_OUT));
      giveUp.abort();
    }, REQUEST_TIMEOUT_MS);
    const done = () => clearTimeout(timer);
    request(giveUp.signal).finally(done).then(resolve, reject);
  });
}
