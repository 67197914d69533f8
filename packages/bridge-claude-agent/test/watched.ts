import type { StoreFactory } from "@scrollback/store-core";
import { MemoryDriver } from "@scrollback/store-core/driver";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";

/** A memory driver that records its requests. */
export function watchedDriver() {
  const driver = new MemoryDriver();
  const calls: string[] = [];
  for (const name of ["commit", "read"] as const) {
    const method = driver[name].bind(driver) as (request: { threadId: string }) => never;
    driver[name] = (request: { threadId: string }) => {
      calls.push(`${name} ${request.threadId}`);
      return method(request);
    };
  }
  const index = wrappedIndex(driver.index, async (verb, run, request) => {
    calls.push(`${verb} ${"index" in request ? request.index : request.prefix}`);
    return await run();
  });
  Object.assign(driver, { index });
  return { driver, calls };
}

/** The names of the threads and of the indexes with entries. */
export async function namesIn(stores: StoreFactory): Promise<string[]> {
  const names: string[] = [];
  for await (const { threadId } of stores.iterateThreads()) names.push(threadId);
  return [...names, ...(await stores.listIndexes()).names].sort();
}
