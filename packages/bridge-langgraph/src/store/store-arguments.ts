import { type Operation, validateNamespace } from "@langchain/langgraph-checkpoint";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { isCount } from "@scrollback/store-core/internal";
import { checkLimit, checkObject } from "../checks.ts";
import { checkFields } from "./embedder.ts";
import { placeProblem } from "./item-names.ts";

/** What the store was given for vectors: no `index`; one, but a backend without vectors; or both. */
export type VectorSupport = "none" | "unsupported" | "full";

/**
 * Refuses an invalid operation, and one that needs vectors that the store does not have.
 *
 * @throws InvalidNamespaceError, and StoreErrors: `INVALID_ARGUMENT`, `UNSUPPORTED`.
 */
export function checkOperation(
  operation: Operation,
  stores: Pick<StoreFactory, "metadataSize">,
  vectors: VectorSupport,
): void {
  if ("namespacePrefix" in operation) {
    const { namespacePrefix, filter, limit, offset, query } = operation;
    checkLabels("search: namespacePrefix", namespacePrefix);
    validateNamespace(namespacePrefix, { allowEmpty: true, allowReservedRoot: true });
    if (filter !== undefined) checkObject("search: filter", filter, "leave it out for none");
    checkLimit("search: limit", limit);
    checkOffset("search: offset", offset);
    if (query !== undefined && typeof query !== "string")
      invalid("search: query must be a string; leave it out for none");
    if (query && vectors !== "full") withoutVectors("search: query", vectors);
    return;
  }
  if ("value" in operation) {
    const { namespace, key, value } = operation;
    checkItem("put", namespace, key);
    if (operation.index !== undefined && operation.index !== false) {
      checkFields("put: index", operation.index);
      if (vectors === "none") withoutVectors("put: index", vectors);
    }
    if (typeof value !== "object")
      invalid("put: value must be an object, or null to delete the item; pass an object");
    try {
      stores.metadataSize(value);
    } catch (cause) {
      if (!StoreError.is(cause, "INVALID_ARGUMENT")) throw cause;
      const message = `put: value cannot be stored (${cause.message}); pass plain data`;
      throw new StoreError("INVALID_ARGUMENT", message, { cause });
    }
    return;
  }
  if ("key" in operation) {
    checkItem("get", operation.namespace, operation.key);
    return;
  }
  const { matchConditions, maxDepth, limit, offset } = operation;
  for (const { matchType, path } of matchConditions ?? []) checkLabels(`listNamespaces: ${matchType}`, path);
  checkLimit("listNamespaces: maxDepth", maxDepth);
  checkLimit("listNamespaces: limit", limit);
  checkOffset("listNamespaces: offset", offset);
}

/** @throws StoreError `INVALID_ARGUMENT` for a value that is not a list of labels. LangGraph checks the labels. */
export function checkLabels(what: string, labels: unknown): void {
  if (!Array.isArray(labels)) invalid(`${what} must be an array of strings; pass ["label", …]`);
}

function checkItem(method: string, namespace: string[], key: string): void {
  checkLabels(`${method}: namespace`, namespace);
  validateNamespace(namespace, { allowReservedRoot: true });
  const problem = placeProblem({ namespace, key });
  if (problem) invalid(`${method}: ${problem}; pass shorter names, or other text`);
}

function checkOffset(what: string, offset: unknown): void {
  const problem = offset === undefined ? undefined : isCount(offset);
  if (problem) invalid(`${what} ${problem}; leave it out for the default`);
}

function withoutVectors(what: string, vectors: VectorSupport): never {
  const fix =
    vectors === "none"
      ? "pass index to ScrollbackStore, or leave it out"
      : "take stores on PostgreSQL or in memory, without a codec";
  throw new StoreError("UNSUPPORTED", `${what} needs vectors, which this store does not have; ${fix}`);
}
