import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/**
 * Watches over what a client sends: each request over HTTP, repetitions included.
 *
 * @returns how many there were so far.
 */
export function watchRequests(
  client: DynamoDBClient,
  seen: (action: string) => void = () => {},
): () => number {
  let count = 0;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      count += 1;
      seen(String(context.commandName).replace(/Command$/, ""));
      return await next(args);
    },
    // Behind the SDK's retries.
    { step: "deserialize", priority: "low", name: "watchRequests" },
  );
  return () => count;
}

/** The permission that a request needs, as policies name it. The adapter sends no PartiQL but updates. */
export function permissionFor(action: string): string {
  return action === "BatchExecuteStatement" ? "PartiQLUpdate" : action;
}
