import { startServer } from "../../../conformance-tests/servers/index.ts";
import type { Backend } from "../backend.ts";
import { openRedis } from "./redis.ts";
import { openSqlite } from "./sqlite.ts";

async function startRedis(): Promise<Backend> {
  const server = await startServer("redis");
  const backend = await openRedis(server).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  return {
    ...backend,
    async close() {
      await backend.close();
      await server.stop();
    },
  };
}

/** Every backend that is measured, by the name that `--only` takes, in the order of the report. */
export const backends: Readonly<Record<string, readonly (() => Promise<Backend>)[]>> = {
  redis: [startRedis],
  sqlite: [() => openSqlite("full"), () => openSqlite("normal")],
};
