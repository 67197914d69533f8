import type { Connection } from "./clients/index.ts";

/** Runs a step, and returns its result. */
export type WithoutTimeout = <T>(step: () => T) => T;

/**
 * Returns a function that runs steps without the busy timeout of a caller's client: SQLite would wait for a lock by blocking the event
 * loop. Between two steps the client has its own. A client that has none here, as `node:sqlite` by default, costs nothing.
 */
export function withoutBusyTimeout(connection: Connection): WithoutTimeout {
  const read = connection.first("PRAGMA busy_timeout");
  if (read()?.[0] === 0) return (step) => step();
  return (step) => {
    // Read each time, because the caller may have changed it.
    const timeout = Number(read()?.[0]);
    connection.exec("PRAGMA busy_timeout = 0");
    try {
      return step();
    } finally {
      connection.exec(`PRAGMA busy_timeout = ${timeout}`);
    }
  };
}
