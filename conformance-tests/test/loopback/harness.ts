import { type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import type { Harness } from "../../src/harness.ts";
import { TcpProxy } from "../../src/proxy/tcp-proxy.ts";
import { memoryHarness } from "../memory-harness.ts";
import { LoopbackDriver } from "./driver.ts";
import { serve } from "./server.ts";

/**
 * The memory driver behind a TCP server in this process: a backend with a network and other processes, without a server to
 * install. `wrap` wraps the driver of each client.
 */
export async function loopbackHarness(
  wrap: (driver: LoopbackDriver) => Driver = (driver) => driver,
  behind: Driver = new MemoryDriver(),
): Promise<Harness> {
  const memory = await memoryHarness(behind);
  const server = await serve(memory.driver);
  const proxy = new TcpProxy();
  const proxied = await proxy.forward({ host: "127.0.0.1", port: server.port });
  const client = new LoopbackDriver(server.port);
  const driver = wrap(client);
  return {
    driver,
    server: memory.server,
    connect: () => wrap(new LoopbackDriver(server.port)),
    childProcess: { module: new URL("./driver.ts", import.meta.url), data: server.port },
    raw: memory.raw,
    requestCount: () => client.requestCount,
    faults: { proxy, connect: () => wrap(new LoopbackDriver(proxied)) },
    async close() {
      await driver.close();
      await proxy.close();
      await server.close();
      await memory.close();
    },
  };
}
