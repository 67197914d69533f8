import type { ServerInfo } from "../src/harness.ts";
import type { ServerName } from "./servers.ts";
import { startServer } from "./start.ts";

/** The environment variable with the address at which the global set-up tells where its servers are. */
export const SHARED_SERVERS = "SCROLLBACK_SHARED_SERVERS";

/** A server that all files of a test run use, without the controls that would disturb the others. */
export interface SharedServer extends ServerInfo {
  readonly name: ServerName;
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

const ours = new Map<ServerName, Promise<SharedServer>>();

/**
 * The server that all files of a run share: started by the first call in any of the run's processes, stopped when the run ends.
 * Each caller uses a namespace of its own (a key prefix, a table), and neither reads nor changes what belongs to the whole server
 * (configuration, scripts, statistics, all keys); a test that does so takes {@link startServer}. Without the global set-up of
 * this folder, the server is shared within the process and removed when the process ends.
 *
 * @throws the errors of {@link startServer}.
 * @example
 * runConformance({ name: "PostgreSQL", createHarness: postgresHarnesses(sharedServer("postgres")) });
 */
export function sharedServer(name: ServerName): Promise<SharedServer> {
  const found = ours.get(name) ?? ask(name);
  ours.set(name, found);
  return found;
}

async function ask(name: ServerName): Promise<SharedServer> {
  const address = process.env[SHARED_SERVERS];
  if (address === undefined) return await startServer(name);
  const response = await fetch(`${address}/${name}`);
  const body = await response.text();
  if (!response.ok) throw new Error(body);
  return { name, ...JSON.parse(body) };
}
