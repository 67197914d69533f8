import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type ServerName, servers } from "./servers.ts";
import { SHARED_SERVERS, type SharedServer } from "./shared.ts";
import { type RunningServer, startServer } from "./start.ts";

/**
 * A global set-up for Vitest: starts each server once for the whole run, when the first test asks for it through `sharedServer`,
 * in whichever process, and stops it when the run ends.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const running = new Map<string, Promise<RunningServer>>();
  const start = async (name: ServerName): Promise<RunningServer> => {
    return await startServer(name);
  };
  const server = createServer(async ({ url = "" }, response) => {
    const name = url.slice(1);
    try {
      if (!Object.hasOwn(servers, name)) throw new Error(`there is no server "${name}"`);
      const starting = running.get(name) ?? start(name as ServerName);
      running.set(name, starting);
      const { product, version, host, port, url: address } = await starting;
      const shared: Omit<SharedServer, "name"> = { product, version, host, port, url: address };
      response.end(JSON.stringify(shared));
    } catch (error) {
      running.delete(name);
      response.writeHead(500).end(error instanceof Error ? error.message : String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env[SHARED_SERVERS] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    delete process.env[SHARED_SERVERS];
    server.close();
    for (const started of await Promise.allSettled(running.values()))
      if (started.status === "fulfilled") await started.value.stop();
  };
}
