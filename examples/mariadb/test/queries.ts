import type { Pool } from "mysql2/promise";
import { MariadbDocuments } from "../src/mariadb-documents.ts";
import { parseOptions } from "../src/options.ts";
import type { Namespace } from "./client.ts";

/** A connection of mysql2, as its pool makes it: each command passes this method, which is not in the types. */
interface CommandQueue {
  addCommand(command: { sql?: string }): unknown;
}

/** Records the statements that the connections of a pool send in `sent`. */
function watch(client: Pool, sent: string[]): void {
  client.pool.on("connection", (connection: object) => {
    const queue = connection as CommandQueue;
    const { addCommand } = queue;
    queue.addCommand = (command) => {
      if (command.sql !== undefined) sent.push(command.sql);
      return addCommand.call(queue, command);
    };
  });
}

/** A database of documents, and a record of its statements. */
export function watchedDocuments(
  { url, tableName }: Namespace,
  sent: string[] = [],
): { database: MariadbDocuments; sent: string[] } {
  const { table } = parseOptions({ url, tableName });
  watch(table.client, sent);
  return { database: new MariadbDocuments(table), sent };
}
