import { sample } from "./explore.ts";
import { scopes } from "./scopes.ts";

// Runs a scope in random orders, and sends the first problem. A process of its own, on sources that mutated-source.ts has changed.

/** What the variable `BLOBS` has as JSON. */
export interface BlobsRun {
  readonly scope: string;
  readonly orders: number;
}

const { scope, orders }: BlobsRun = JSON.parse(process.env.BLOBS ?? "{}");
const given = scopes[scope];
const found = given
  ? await sample(given, orders).catch((error: unknown) => `failed: ${error}`)
  : "failed: no scope";
process.send?.({ found });
