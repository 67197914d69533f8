import type { Harness } from "@scrollback/conformance";
import type { DriverName } from "./drivers.ts";
import { connect, type HeldDriver, objectFor, open, post } from "./held-driver.ts";
import type { Workerd } from "./workerd.ts";

const module = new URL("./held-driver.ts", import.meta.url);

/**
 * Returns a function that creates the harnesses of a backend, with its drivers in workerd. The proxy is between workerd and the backend.
 * The suite has its own access to a backend with a server; what is in memory it reads and writes in workerd.
 */
export function heldIn(
  starting: Promise<Workerd>,
  name: DriverName,
  createHarness: () => Promise<Harness>,
): () => Promise<Harness> {
  return async () => {
    const { port, server } = await starting;
    const local = await createHarness();
    const { childProcess, faults } = local;
    const { index, ...others } = local.driver.capabilities;
    // The protocol has no search by vectors.
    const capabilities = { ...others, ...(index && { index: { maxValueBytes: index.maxValueBytes } }) };
    const held = (data: unknown): HeldDriver => ({ port, name, data, capabilities });
    const inWorkerd = (data: HeldDriver) => ({
      connect: () => connect(data),
      childProcess: { module, data },
    });
    const own = held(childProcess?.data);
    const url = objectFor(own);
    const { driver, requestCount } = open(own, url);
    return {
      ...local,
      driver,
      requestCount,
      ...(childProcess ? inWorkerd(own) : { raw: rawIn(url), server }),
      ...(faults?.childProcess && {
        faults: { proxy: faults.proxy, ...inWorkerd(held(faults.childProcess.data)) },
      }),
      async close() {
        await driver.close();
        await local.close();
      },
    };
  };
}

function rawIn(url: string): Harness["raw"] {
  const call =
    (method: string) =>
    async (...parameters: unknown[]) => {
      const reply = await post(`${url}/raw`, JSON.stringify([method, parameters]));
      if (!reply.ok) throw new Error(await reply.text());
      return (await reply.json()) as never;
    };
  return { dump: call("dump"), dumpIndex: call("dumpIndex"), plant: call("plant") };
}
