import { parseMetadata } from "@scrollback/collections";
import { digestOf } from "./transaction.ts";

/** The number of transactions that a session remembers, in 25 KiB of metadata. */
const MAX_TRANSACTIONS = 512;

/** The metadata of a session's thread: the applied transactions, oldest first. */
export interface Ledger {
  readonly version: 1;
  /** The digest of each operation id, and that of its transaction. */
  readonly transactions: readonly (readonly [id: string, transaction: string])[];
}

const owner = { package: "@scrollback/bridge-openai-agents", kind: "OpenAI Agents session" };

/** @throws StoreError `CORRUPT`, and `UNSUPPORTED` for a newer format. */
export function parseLedger(threadId: string, metadata: unknown): Ledger {
  return parseMetadata<Ledger>(threadId, metadata, owner) ?? { version: 1, transactions: [] };
}

/** The digest of the applied transaction with this id, or undefined. */
export function findApplied(ledger: Ledger, operationId: string): string | undefined {
  const id = digestOf(operationId);
  return ledger.transactions.find(([applied]) => applied === id)?.[1];
}

/** The ledger with one more transaction. The oldest ones above the limit are dropped. */
export function withApplied(ledger: Ledger, operationId: string, digest: string): Ledger {
  const transactions = [...ledger.transactions, [digestOf(operationId), digest] as const];
  return { ...ledger, transactions: transactions.slice(-MAX_TRANSACTIONS) };
}
