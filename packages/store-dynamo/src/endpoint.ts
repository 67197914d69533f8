import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** Where a client's requests go, as `host:port`; undefined where it cannot tell. */
export async function endpointOf({ config }: DynamoDBClient): Promise<string | undefined> {
  try {
    if (config.endpoint) {
      const { hostname, port, protocol } = await config.endpoint();
      return `${hostname}:${port ?? (protocol === "http:" ? 80 : 443)}`;
    }
    const { url } = config.endpointProvider({
      Region: await config.region(),
      UseFIPS: await config.useFipsEndpoint(),
      UseDualStack: await config.useDualstackEndpoint(),
    });
    return `${url.hostname}:443`;
  } catch {
    // No region, for one, which the request's own error tells.
    return undefined;
  }
}
