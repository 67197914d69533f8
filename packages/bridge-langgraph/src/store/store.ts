/**
 * The long-term memory (`BaseStore`) of LangGraph, over any Scrollback store.
 *
 * @packageDocumentation
 */

import {
  BaseStore,
  type GetOperation,
  type IndexConfig,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { chatMessageTraits, type StoreFactory } from "@scrollback/store-core";
import { checkOptions, isId, isObject } from "@scrollback/store-core/driver";
import { isBoolean, isStoreFactory, isTtl } from "@scrollback/store-core/internal";
import { checkObject } from "../checks.ts";
import { AT_ONCE, inBatches, take } from "./batches.ts";
import { Embedder } from "./embedder.ts";
import { matchesFilter } from "./item-filter.ts";
import { ItemTable, MAX_PAGE } from "./item-table.ts";
import { checkLabels, checkOperation, type VectorSupport } from "./store-arguments.ts";
import type { FoundItem } from "./stored-item.ts";

const DEFAULT_LIMIT = 10;

/** Options of {@link ScrollbackStore}. */
export interface ScrollbackStoreOptions {
  /** The storage of items: a store factory of any backend, without `maxMessages`. The factory stays open. */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** The prefix of the thread ids. Stores with different prefixes have separate items. Default: `"langgraph-store"`. */
  readonly prefix?: string;
  /**
   * The time after which an item expires, from its last `put` on, in milliseconds: a positive integer. An expired item is neither
   * returned nor listed. A `put` by a store without it makes the item permanent. Default: the `ttlMs` of `stores`, or never.
   */
  readonly ttlMs?: number;
  /**
   * Whether an item that `get` or `search` returns begins its `ttlMs` again, unless that was done within the last tenth of it.
   * Default: true.
   */
  readonly refreshOnRead?: boolean;
  /**
   * Finds items by their meaning: `put` embeds the texts at `fields` (default `["$"]`, the whole value as JSON), and `search` takes a
   * `query`. On a backend without vectors, and for stores with a codec, items are stored without them and a `query` is `UNSUPPORTED`. All
   * stores of one prefix must have the same. Default: none.
   */
  readonly index?: IndexConfig;
}

/**
 * A LangGraph store, the long-term memory of graphs, on the stores of any Scrollback backend. It searches by meaning, with a `query`, on
 * backends with vectors: PostgreSQL with pgvector, and memory.
 *
 * @example
 * const store = new ScrollbackStore({ stores: await openStores("sqlite:memories.db") });
 * const graph = builder.compile({ checkpointer, store });
 */
export class ScrollbackStore extends BaseStore implements AsyncDisposable {
  /** With this name LangGraph's queue of operations, an `AsyncBatchedStore`, calls `store` instead of this object. */
  readonly lg_name = "AsyncBatchedStore";
  /** Runs the operations of concurrent nodes, which LangGraph puts into one batch. Each has its own outcome. */
  protected readonly store: BaseStore;
  readonly #items: ItemTable;
  readonly #stores: StoreFactory;
  readonly #vectors: VectorSupport;

  /**
   * Does no I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim; `UNSUPPORTED` for a backend without an
   *   index, and for `ttlMs` on one that cannot expire threads.
   */
  constructor(options: ScrollbackStoreOptions) {
    super();
    const checks = {
      stores: isStoreFactory("items"),
      prefix: isId,
      ttlMs: isTtl,
      refreshOnRead: isBoolean,
      index: isObject,
    };
    checkOptions("ScrollbackStore", options, checks, ["stores"]);
    const { prefix = "langgraph-store", refreshOnRead = true } = options;
    this.#stores = options.stores.withTraits(chatMessageTraits);
    const ttlMs = options.ttlMs ?? this.#stores.settings.ttlMs;
    const embedder = options.index && new Embedder(options.index);
    this.#items = new ItemTable({ stores: this.#stores, prefix, ttlMs, refreshOnRead, embedder });
    this.#vectors = !embedder ? "none" : this.#items.hasVectors ? "full" : "unsupported";
    this.store = new SeparateOutcomes((operations) => this.#settle(operations));
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
   * applied. A search returns items in the order of their namespaces, then of their keys, one with a `query` the most similar first, with
   * their `score`. An operation that fails does not stop the others.
   *
   * @throws the error of the first operation that failed, after the others have run: InvalidNamespaceError or StoreErrors.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results = (await this.#settle(operations)).map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
    return results as OperationResults<Op>;
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

  async #settle(operations: readonly Operation[]): Promise<PromiseSettledResult<unknown>[]> {
    const outcomes: PromiseSettledResult<unknown>[] = await Promise.allSettled(
      operations.map(async (operation) => {
        checkOperation(operation, this.#stores, this.#vectors);
        if (isPut(operation)) return undefined;
        if (isGet(operation)) return await this.#items.get(operation);
        return isSearch(operation) ? await this.#search(operation) : await this.#listNamespaces(operation);
      }),
    );
    const byItem = new Map<string, { readonly put: PutOperation; readonly places: readonly number[] }>();
    for (const [place, put] of operations.entries()) {
      if (outcomes[place]?.status === "rejected" || !isPut(put)) continue;
      const item = JSON.stringify([put.namespace, put.key]);
      byItem.set(item, { put, places: [...(byItem.get(item)?.places ?? []), place] });
    }
    await inBatches([...byItem.values()], async ({ put, places }) => {
      const [outcome] = await Promise.allSettled([this.#write(put)]);
      for (const place of places) outcomes[place] = outcome;
    });
    return outcomes;
  }

  async #write({ namespace, key, value, index }: PutOperation): Promise<void> {
    if (value === null) await this.#items.delete({ namespace, key });
    else await this.#items.put({ namespace, key }, value, index);
  }

  async #search({
    namespacePrefix,
    filter = {},
    limit = DEFAULT_LIMIT,
    offset = 0,
    query,
  }: SearchOperation): Promise<SearchItem[]> {
    if (limit <= 0) return [];
    const isFiltered = Object.keys(filter).length > 0;
    const end = offset + limit;
    const pageSize = isFiltered ? MAX_PAGE : Math.min(end, MAX_PAGE);
    const listed = query
      ? this.#items.nearest(namespacePrefix, await this.#items.vectorOf(query), pageSize)
      : this.#items.below(namespacePrefix, pageSize);
    // Without a filter the entries say enough about the items before `offset`.
    const passed = isFiltered ? 0 : (await take(listed, offset)).length;
    const found: FoundItem[] = [];
    const stale: FoundItem[] = [];
    while (found.length < end - passed) {
      const batch = await take(listed, isFiltered ? AT_ONCE : Math.min(AT_ONCE, end - passed - found.length));
      if (batch.length === 0) break;
      const items = await Promise.all(batch.map((one) => this.#items.read(one)));
      // An item may have been deleted since it was listed.
      for (const one of items) {
        if (one?.isStale) stale.push(one);
        if (one && matchesFilter(one.item.value, filter)) found.push(one);
      }
    }
    // Not before: they would move to other pages of this search.
    for (const one of stale) this.#items.tellAgain(one);
    const returned = found.slice(offset - passed, end - passed);
    await inBatches(returned, (one) => this.#items.renew(one));
    return returned.map(({ item, score }) => ({ ...item, ...(score !== undefined && { score }) }));
  }

  async #listNamespaces({
    matchConditions = [],
    maxDepth = Number.POSITIVE_INFINITY,
    limit = Number.POSITIVE_INFINITY,
    offset = 0,
  }: ListNamespacesOperation): Promise<string[][]> {
    const found = new Map<string, string[]>();
    if (limit <= 0) return [];
    for await (const namespace of this.#items.namespaces(literalPrefix(matchConditions))) {
      if (!matchConditions.every((condition) => matches(namespace, condition))) continue;
      const cut = namespace.slice(0, maxDepth);
      found.set(JSON.stringify(cut), cut);
      if (found.size >= offset + limit) break;
    }
    return [...found.values()].slice(offset, offset + limit);
  }
}

/** A store for LangGraph's queue, which resolves the call of a node with the result of its operation. */
class SeparateOutcomes extends BaseStore {
  readonly #settle: (operations: readonly Operation[]) => Promise<PromiseSettledResult<unknown>[]>;

  constructor(settle: (operations: readonly Operation[]) => Promise<PromiseSettledResult<unknown>[]>) {
    super();
    this.#settle = settle;
  }

  /** The result of an operation that failed is a promise that rejects. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results = (await this.#settle(operations)).map((outcome) => {
      if (outcome.status === "fulfilled") return outcome.value;
      const failed = Promise.reject(outcome.reason);
      failed.catch(() => undefined);
      return failed;
    });
    return results as OperationResults<Op>;
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

/** The labels with which each namespace begins that matches the conditions. */
function literalPrefix(conditions: readonly MatchCondition[]): readonly string[] {
  const { path = [] } = conditions.find(({ matchType }) => matchType === "prefix") ?? {};
  const wildcard = path.indexOf("*");
  return wildcard < 0 ? path : path.slice(0, wildcard);
}
