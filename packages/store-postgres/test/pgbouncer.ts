import { type RunningServer, startServer } from "@scrollback/conformance/servers";

/** A PgBouncer in transaction mode with its server, reported under the name of the pooler. `direct` is the server's URL. */
export async function startPooled(
  ...settings: string[]
): Promise<RunningServer & { readonly direct: string }> {
  const server = await startServer("postgres");
  // Containers connect to each other by their addresses on the container engine's network.
  const address = (await server.exec(["hostname", "-i"])).trim().split(" ")[0];
  const target = `* = host=${address} port=5432 user=postgres`;
  const pooler = await startServer("pgbouncer", { args: [...settings, "[databases]", target] });
  const stop = async () => {
    await pooler.stop();
    await server.stop();
  };
  return { ...pooler, direct: server.url, stop, [Symbol.asyncDispose]: stop };
}
