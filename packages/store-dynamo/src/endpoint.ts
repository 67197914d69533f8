import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** Returns the endpoint of a client as `host:port`, or undefined if it is unknown. */
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
    // For example without a region, which the request's own error reports.
    return undefined;
  }
}
