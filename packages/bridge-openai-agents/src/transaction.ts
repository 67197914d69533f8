import { hash } from "node:crypto";
import { type AgentInputItem, MemorySession, type SessionHistoryTransactionArgs } from "@openai/agents-core";

/** A checked transaction that the caller cannot change any more. */
export interface CheckedTransaction extends SessionHistoryTransactionArgs {
  /** How many of the newest items it compares with. */
  readonly suffixLength: number;
  /** Equal for transactions that the SDK takes for the same. */
  readonly digest: string;
}

/**
 * Checks and copies a transaction by the rules of the SDK's own `MemorySession`, before any I/O. Reads the arguments once.
 *
 * @throws UserError of the SDK.
 */
export async function checkTransaction(args: SessionHistoryTransactionArgs): Promise<CheckedTransaction> {
  const read = readOnce(args);
  // On a history that ends as the transaction expects, so that nothing but the transaction can be wrong.
  const memory = new MemorySession({ initialItems: suffixOf(read?.transaction) });
  const checked = memory.applyHistoryTransaction(read as SessionHistoryTransactionArgs);
  const transaction = cloneOf(read?.transaction);
  await checked;
  if (!read || !transaction) throw new TypeError("a transaction that was accepted could not be copied");
  const suffixLength = transaction.type === "replace_suffix" ? transaction.expectedSuffix.length : 0;
  return { operationId: read.operationId, transaction, suffixLength, digest: digestOf(transaction) };
}

/** The items that take the place of a history's newest. @throws UserError when those are not what is expected. */
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

/** Undefined, which the SDK's check refuses, for arguments that cannot be read. */
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

/** A copy of what the SDK's check accepts; undefined for anything that cannot be copied. */
function cloneOf<T>(value: T): T | undefined {
  try {
    return structuredClone(value);
  } catch {
    return undefined;
  }
}

/** The same JSON for values that differ in the order of keys only, and another one for all others. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return ["array", ...value.map(canonical)];
  if (value instanceof Uint8Array) return ["bytes", Buffer.from(value).toString("base64")];
  if (typeof value === "number") return ["number", Object.is(value, -0) ? "-0" : String(value)];
  if (value === undefined) return ["undefined"];
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return ["object", ...fields.map(([key, field]) => [key, canonical(field)])];
}
