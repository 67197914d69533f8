/**
 * Starts the servers of the tests: Redis, MongoDB, DynamoDB, PostgreSQL, MariaDB and others, in Docker containers. Needs a Docker engine that
 * runs, or the URL of a server in an environment variable.
 *
 * @packageDocumentation
 */
export { type SharedServer, sharedServer } from "./shared.ts";
export { type RunningServer, startServer } from "./start.ts";
