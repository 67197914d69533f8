import type { Redis } from "ioredis";

/** The number of runs of each command during `work`, also inside scripts. */
export async function commandsOf(
  client: Redis,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  await client.config("RESETSTAT");
  await work();
  const lines = (await client.info("commandstats")).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  const {
    "config|resetstat": _,
    info: __,
    ...calls
  } = Object.fromEntries([...lines].map(([, name = "", calls]) => [name, Number(calls)]));
  return calls;
}
