/**
 * The long-term memory (`BaseStore`) of LangGraph, over any Scrollback store.
 *
 * @packageDocumentation
 */

import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { chatMessageTraits, checkOptions, hasMethods, isId, type StoreFactory } from "@scrollback/store-core";
import { matchesFilter } from "./item-filter.ts";
import { ItemTable } from "./item-table.ts";
import { checkStores } from "./options.ts";
import { checkObject } from "./saver-arguments.ts";
import { checkLabels, checkOperations } from "./store-arguments.ts";

const DEFAULT_LIMIT = 10;
/** The number of items that are read concurrently. */
const AT_ONCE = 16;

/** Options of {@link ScrollbackStore}. */
export interface ScrollbackStoreOptions {
  /** The storage of items: a store factory of any backend, without `maxMessages` and `ttlMs`. The factory stays open. */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** The prefix of the thread ids. Stores with different prefixes have separate items. Default: `"langgraph-store"`. */
  readonly prefix?: string;
}

/**
 * A LangGraph store, the long-term memory of graphs, on the stores of any Scrollback backend. It does not support vectors: a
 * search with a `query`, and an item with fields to index, fail with `UNSUPPORTED`.
 *
 * @example
 * const store = new ScrollbackStore({ stores: await openStores("sqlite:memories.db") });
 * const graph = builder.compile({ checkpointer, store });
 */
export class ScrollbackStore extends BaseStore implements AsyncDisposable {
  readonly #items: ItemTable;
  readonly #checks: Parameters<typeof checkOperations>[1];

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim or expire. */
  constructor(options: ScrollbackStoreOptions) {
    super();
    checkOptions("ScrollbackStore", options ?? null, { stores: hasMethods("withTraits"), prefix: isId });
    const { stores, prefix = "langgraph-store" } = options;
    checkStores("ScrollbackStore", stores);
    const factory = stores.withTraits(chatMessageTraits);
    const items = new ItemTable(factory, prefix);
    this.#items = items;
    this.#checks = { stores: factory, threadId: (namespace, key) => items.threadId(namespace, key) };
  }

  override async get(namespace: string[], key: string): Promise<Item | null> {
    checkLabels("get: namespace", namespace);
    return await super.get(namespace, key);
  }

  override async put(
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    index?: false | string[],
  ): Promise<void> {
    checkLabels("put: namespace", namespace);
    await super.put(namespace, key, value, index);
  }

  override async delete(namespace: string[], key: string): Promise<void> {
    checkLabels("delete: namespace", namespace);
    await super.delete(namespace, key);
  }

  override async search(
    namespacePrefix: string[],
    options: Parameters<BaseStore["search"]>[1] = {},
  ): Promise<SearchItem[]> {
    checkLabels("search: namespacePrefix", namespacePrefix);
    checkObject("search: options", options, "leave them out for none");
    return await super.search(namespacePrefix, options);
  }

  override async listNamespaces(
    options: Parameters<BaseStore["listNamespaces"]>[0] = {},
  ): Promise<string[][]> {
    checkObject("listNamespaces: options", options, "leave them out for none");
    return await super.listNamespaces(options);
  }

  /**
   * Runs operations: first all reads, concurrently, then all writes. Of several writes to one item only the last is
   * applied. A search returns items ordered by namespace, then by creation.
   *
   * @throws InvalidNamespaceError and StoreErrors. An invalid operation is refused before the first request.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    checkOperations(operations, this.#checks);
    const read = await Promise.all(
      operations.map(async (operation) => {
        if (isPut(operation)) return undefined;
        if (isGet(operation)) return await this.#items.get(operation.namespace, operation.key);
        return isSearch(operation) ? await this.#search(operation) : await this.#listNamespaces(operation);
      }),
    );
    const puts = operations
      .filter(isPut)
      .map((put) => [JSON.stringify([put.namespace, put.key]), put] as const);
    const writes = [...new Map(puts).values()];
    for (let start = 0; start < writes.length; start += AT_ONCE) {
      const batch = writes.slice(start, start + AT_ONCE);
      await Promise.all(
        batch.map(({ namespace, key, value }) =>
          value === null ? this.#items.delete(namespace, key) : this.#items.put(namespace, key, value),
        ),
      );
    }
    return read as OperationResults<Op>;
  }

  /** Returns when the lists of items are stored. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#items.flush();
  }

  /** The same as {@link ScrollbackStore.flush}. */
  override async stop(): Promise<void> {
    await this.flush();
  }

  /** The same as {@link ScrollbackStore.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  async #search({
    namespacePrefix,
    filter = {},
    limit = DEFAULT_LIMIT,
    offset = 0,
  }: SearchOperation): Promise<SearchItem[]> {
    const found: SearchItem[] = [];
    const end = offset + limit;
    if (limit <= 0) return found;
    for await (const batch of this.#candidates(namespacePrefix)) {
      const items = await Promise.all(batch.map(([namespace, key]) => this.#items.get(namespace, key)));
      // An item may have been deleted since it was listed.
      const there = items.filter((item): item is Item => item !== null);
      found.push(...there.filter(({ value }) => matchesFilter(value, filter)));
      if (found.length >= end) break;
    }
    return found.slice(offset, end);
  }

  /** Yields the items below a namespace, in batches. */
  async *#candidates(
    prefix: readonly string[],
  ): AsyncGenerator<[namespace: readonly string[], key: string][]> {
    let batch: [readonly string[], string][] = [];
    for await (const namespace of this.#items.namespaces()) {
      if (!prefix.every((label, depth) => namespace[depth] === label)) continue;
      for await (const key of this.#items.keys(namespace)) {
        batch.push([namespace, key]);
        if (batch.length < AT_ONCE) continue;
        yield batch;
        batch = [];
      }
    }
    yield batch;
  }

  async #listNamespaces({
    matchConditions = [],
    maxDepth = Number.POSITIVE_INFINITY,
    limit = Number.POSITIVE_INFINITY,
    offset = 0,
  }: ListNamespacesOperation): Promise<string[][]> {
    const found = new Map<string, string[]>();
    for await (const namespace of this.#items.namespaces()) {
      if (!matchConditions.every((condition) => matches(namespace, condition))) continue;
      const cut = namespace.slice(0, maxDepth);
      found.set(JSON.stringify(cut), cut);
      if (found.size >= offset + limit) break;
    }
    return [...found.values()].slice(offset, offset + limit);
  }
}

function isPut(operation: Operation): operation is PutOperation {
  return "value" in operation;
}

function isGet(operation: Operation): operation is GetOperation {
  return "key" in operation && !isPut(operation);
}

function isSearch(operation: Operation): operation is SearchOperation {
  return "namespacePrefix" in operation;
}

/** Whether a namespace begins, or ends, with a path in which `*` matches any label. */
function matches(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  if (path.length > namespace.length) return false;
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((label, depth) => label === "*" || namespace[start + depth] === label);
}
