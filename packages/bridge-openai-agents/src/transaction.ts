import { hash } from "node:crypto";
import { types } from "node:util";
import { type AgentInputItem, MemorySession, type SessionHistoryTransactionArgs } from "@openai/agents-core";

/** A checked copy of a transaction, which the caller cannot change. */
export interface CheckedTransaction extends SessionHistoryTransactionArgs {
  /** The number of newest items that the transaction compares. */
  readonly suffixLength: number;
  /** Equal for transactions that the SDK treats as the same. */
  readonly digest: string;
}

/**
 * Checks and copies a transaction by the rules of the SDK's own `MemorySession`, before any I/O. Reads the arguments once.
 *
 * @throws UserError of the SDK.
 */
export async function checkTransaction(args: SessionHistoryTransactionArgs): Promise<CheckedTransaction> {
  const read = readOnce(args);
  // Uses a history that ends as the transaction expects, so that only an invalid transaction fails.
  const memory = new MemorySession({ initialItems: suffixOf(read?.transaction) });
  const checked = memory.applyHistoryTransaction(read as SessionHistoryTransactionArgs);
  const transaction = cloneOf(read?.transaction);
  await checked;
  if (!read || !transaction) throw new TypeError("a transaction that was accepted could not be copied");
  const suffixLength = transaction.type === "replace_suffix" ? transaction.expectedSuffix.length : 0;
  return { operationId: read.operationId, transaction, suffixLength, digest: digestOf(transaction) };
}

/** Returns the items that replace the newest items of a history. @throws UserError if those do not match. */
export async function applyTransaction(
  newest: AgentInputItem[],
  { operationId, transaction }: CheckedTransaction,
): Promise<AgentInputItem[]> {
  const memory = new MemorySession({ initialItems: newest });
  await memory.applyHistoryTransaction({ operationId, transaction });
  return await memory.getItems();
}

/** 132 bits of SHA-256. */
export function digestOf(value: unknown): string {
  return hash("sha256", JSON.stringify(canonical(value)), "base64url").slice(0, 22);
}

/** Returns undefined, which the SDK's check refuses, for arguments that cannot be read. */
function readOnce(args: SessionHistoryTransactionArgs): SessionHistoryTransactionArgs | undefined {
  try {
    return {
      operationId: Reflect.get(args, "operationId"),
      transaction: Reflect.get(args, "transaction"),
    };
  } catch {
    return undefined;
  }
}

function suffixOf(transaction: unknown): AgentInputItem[] {
  const { expectedSuffix } = (cloneOf(transaction) ?? {}) as { expectedSuffix?: unknown };
  return Array.isArray(expectedSuffix) ? expectedSuffix : [];
}

/** Copies a value that the SDK's check accepts; undefined if it cannot be copied. */
function cloneOf<T>(value: T): T | undefined {
  try {
    return structuredClone(value);
  } catch {
    return undefined;
  }
}

/** Returns a value whose JSON is equal only for values that are equal except for the order of their keys. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return ["array", ...value.map(canonical)];
  if (types.isUint8Array(value)) return ["bytes", Buffer.from(value).toString("base64")];
  if (typeof value === "number") return ["number", Object.is(value, -0) ? "-0" : String(value)];
  if (value === undefined) return ["undefined"];
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return ["object", ...fields.map(([key, field]) => [key, canonical(field)])];
}
