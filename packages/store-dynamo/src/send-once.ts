import type { DynamoDBClient, PutItemCommand, PutItemCommandOutput } from "@aws-sdk/client-dynamodb";

/** Hides an error from the SDK, which repeats requests after errors that it knows. Not as `cause`, which it knows too. */
class FailedOnce extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("the request failed");
    this.reason = reason;
  }
}

/** Sends a write that the client must not repeat, whatever its retry strategy and `maxAttempts`. */
export async function sendOnce(
  client: DynamoDBClient,
  command: PutItemCommand,
  how: { abortSignal: AbortSignal },
): Promise<PutItemCommandOutput> {
  command.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        throw new FailedOnce(error);
      }
    },
    // Within the SDK's retries.
    { step: "finalizeRequest", priority: "low", name: "sendOnce" },
  );
  try {
    return await client.send(command, how);
  } catch (error) {
    throw error instanceof FailedOnce ? error.reason : error;
  }
}
