import { randomUUID } from "node:crypto";
import type { RunningServer } from "../../../conformance-tests/servers/index.ts";
import { startServer } from "../../../conformance-tests/servers/index.ts";
import type { ServerName } from "../../../conformance-tests/servers/servers.ts";
import type { Backend, Location } from "../backend.ts";
import { countRoundTrips } from "../round-trips.ts";

/** The differences between the servers. */
export interface Definition extends Pick<Backend, "key" | "title" | "versions" | "baseline" | "connect"> {
  /** Makes the tables or indexes, as on a server in production. */
  prepare?(): Promise<void>;
  /** Removes what was written. */
  remove(): Promise<void>;
}

/** A backend on a server that is started for it and stopped with it. */
export async function openOnServer(
  name: ServerName,
  define: (location: Location) => Definition,
): Promise<Backend> {
  const server = await startServer(name);
  try {
    const { url, product, version } = server;
    const location = { url, product, version, run: randomUUID().replaceAll("-", "") };
    const { prepare, remove, ...definition } = define(location);
    await prepare?.();
    const counter = await countRoundTrips(server);
    const counted = new URL(url);
    counted.host = `127.0.0.1:${counter.port}`;
    const cpu = () => cpuMicros(server);
    const isOurs = await cpu().then(
      () => true,
      () => false,
    );
    return {
      ...definition,
      location,
      counted: { url: counted.href, roundTrips: counter.count },
      ...(isOurs && { serverCpu: cpu }),
      async close() {
        await remove();
        await counter.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The processor time of all processes of the server's container, as its control group counts it (version 2, then 1). */
async function cpuMicros(server: RunningServer): Promise<number> {
  const script =
    "cat /sys/fs/cgroup/cpu.stat 2>/dev/null || echo usage_nsec $(cat /sys/fs/cgroup/cpuacct/cpuacct.usage)";
  const text = await server.exec(["sh", "-c", script]);
  const [, unit, count] = /^usage_(u|n)sec (\d+)/m.exec(text) ?? [];
  if (count === undefined) throw new Error(`cannot read the processor time of ${server.product}: ${text}`);
  return unit === "n" ? Number(count) / 1_000 : Number(count);
}
