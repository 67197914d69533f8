import { exploreStreams, type Seen } from "./explore.ts";

// Explores random orders, and sends the first problem. A process of its own, on sources that mutated-source.ts has changed.

const orders = Number(process.env.STREAM_ORDERS);
const seen: Seen = {};
const problem = await exploreStreams(1, orders, seen).catch((error: unknown) => `failed: ${error}`);
const found = problem ?? (seen.whole ? undefined : "seed of any order: no listener got a whole answer");
process.send?.({ found });
