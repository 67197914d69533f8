import type { BlobStorage } from "@scrollback/collections";
import { StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { untilAborted } from "@scrollback/store-core/internal";

const TIMEOUT_MS = 120_000;

/** A storage of the caller's. Its errors are StoreErrors, its results are checked, and each call ends. */
export function checkedBlobs(storage: BlobStorage, timeoutMs = TIMEOUT_MS): BlobStorage {
  async function call<T>(
    method: keyof BlobStorage,
    signal: AbortSignal | undefined,
    run: (options: { readonly signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      return await untilAborted(async () => await run({ signal: either }), either);
    } catch (error) {
      if (either.aborted && !signal?.aborted) throw failed(method, `took longer than ${timeoutMs} ms`, error);
      throw StoreError.is(error) ? error : failed(method, "failed; see cause", error);
    }
  }
  return {
    put: (key, content, { signal } = {}) =>
      call("put", signal, async (options) => await storage.put(key, content, options)),
    async get(key, { signal, ...range } = {}) {
      const content: unknown = await call("get", signal, (options) =>
        storage.get(key, { ...range, ...options }),
      );
      if (content === undefined) return undefined;
      if (!(content instanceof Uint8Array)) invalid("blobs.get must return a Uint8Array or undefined");
      const { start = 0, end = Number.POSITIVE_INFINITY } = range;
      if (content.length > Math.max(0, end - start))
        invalid("blobs.get must return the bytes from start to before end");
      // A Buffer is one of Node's, and messages have bytes of any runtime.
      return new Uint8Array(content.buffer, content.byteOffset, content.length);
    },
    delete: (key, { signal } = {}) =>
      call("delete", signal, async (options) => await storage.delete(key, options)),
    ...(storage.url && {
      async url(key, options) {
        const url: unknown = await call("url", undefined, async () => await storage.url?.(key, options));
        if (url === undefined || typeof url === "string") return url;
        return invalid("blobs.url must return a string or undefined");
      },
    }),
  };
}

function failed(method: keyof BlobStorage, problem: string, cause: unknown): StoreError {
  return new StoreError("UNAVAILABLE", `blobs.${method} ${problem}`, { cause, retryable: true });
}
