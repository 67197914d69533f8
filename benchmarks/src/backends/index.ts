import { startServer } from "../../../conformance-tests/servers/index.ts";
import type { Backend } from "../backend.ts";
import { openDynamo } from "./dynamo.ts";
import { openMongo } from "./mongo.ts";
import { openPostgres } from "./postgres.ts";
import { openRedis } from "./redis.ts";
import { openSqlite } from "./sqlite.ts";

type Server = Awaited<ReturnType<typeof startServer>>;

/** A backend on a server that is started for it and ends with it. */
async function start(name: Server["name"], open: (server: Server) => Promise<Backend>): Promise<Backend> {
  const server = await startServer(name);
  const backend = await open(server).catch(async (error: unknown) => {
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
  redis: [() => start("redis", openRedis)],
  mongodb: [() => start("mongodb", openMongo)],
  dynamodb: [() => start("dynamodb", openDynamo)],
  postgres: [() => start("postgres", openPostgres)],
  sqlite: [() => openSqlite("full"), () => openSqlite("normal")],
};
