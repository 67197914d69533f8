import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/**
 * Counts the HTTP requests of a client, including retries.
 *
 * @returns a function that returns the number of requests so far.
 */
export function watchRequests(client: DynamoDBClient): () => number {
  let count = 0;
  client.middlewareStack.add(
    (next) => async (args) => {
      count += 1;
      return await next(args);
    },
    // After the SDK's retry middleware.
    { step: "deserialize", priority: "low", name: "watchRequests" },
  );
  return () => count;
}

/** The permissions that a request needs, by their names in policies. A transaction needs those of its actions. */
export function permissionsFor(action: string): string[] {
  return action === "TransactWriteItems" ? ["PutItem", "DeleteItem", "UpdateItem"] : [action];
}
