import { StoreError } from "@scrollback/store-core";
import {
  type EntriesRequest,
  type EntryIndex,
  EntryPage,
  type EntryPlace,
  type EntryPut,
  type IndexesRequest,
  type IndexListing,
  SortKey,
  type StoredEntry,
} from "@scrollback/store-core/driver";
import type { OpenCommands } from "./connection.ts";
import { entriesPattern, indexKeys, indexOf } from "./keys.ts";
import { type KeySource, scanPage } from "./scan.ts";
import { entriesScript, runScript } from "./scripts.ts";

/** An entry as `scripts/entries.ts` stores it. */
type Stored = readonly [id: string, version: string, expiry: string, sort: string, value: string];

/** How the index of a driver sends commands. */
export interface EntrySource {
  readonly clientPrefix: string;
  readonly keyPrefix: string;
  send<T>(
    request: { readonly signal: AbortSignal | undefined },
    command: (commands: OpenCommands) => Promise<T>,
  ): Promise<T>;
}

/** The index for Redis: a sorted set and a hash for each name, in one slot. `scripts/entries.ts` has the layout. */
export class RedisEntries implements EntryIndex {
  readonly #source: EntrySource;

  constructor(source: EntrySource) {
    this.#source = source;
  }

  async insertEntry(put: EntryPut): Promise<boolean> {
    const [outcome] = await this.#run("insert", put, argumentsOf(put));
    return outcome === "inserted";
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const [outcome, version] = await this.#run("update", put, argumentsOf(put));
    return outcome === "found" ? Number(version) : null;
  }

  async removeEntry(request: EntryPlace & { signal: AbortSignal | undefined }): Promise<boolean> {
    const [outcome] = await this.#run("remove", request, [request.key, request.id]);
    return outcome === "removed";
  }

  async entriesOf(
    request: Pick<EntryPlace, "index" | "key"> & { signal: AbortSignal | undefined },
  ): Promise<readonly StoredEntry[]> {
    const { key } = request;
    const [, list = "[]"] = await this.#run("of", request, [key]);
    const entries = (JSON.parse(list) as Stored[]).map((stored) => entryOf(key, stored));
    return EntryPage.alive(entries);
  }

  async listEntries(request: EntriesRequest): Promise<EntryPage> {
    const { direction, limit, after } = request;
    const values = [direction, `${limit}`, after ?? SortKey.ENDS[direction]];
    const [, next = "", more, ...found] = await this.#run("list", request, values);
    const entries: StoredEntry[] = [];
    for (let at = 0; at < found.length; at += 2) {
      const [sort = "", list = "[]"] = found.slice(at, at + 2);
      const stored = (JSON.parse(list) as Stored[]).find((one) => one[3] === sort);
      if (stored) entries.push(entryOf(SortKey.keyOf(sort), stored));
    }
    return { entries: EntryPage.alive(entries), ...(more === "more" && { next }) };
  }

  async listIndexes(request: IndexesRequest): Promise<IndexListing> {
    const { clientPrefix, keyPrefix } = this.#source;
    const names: string[] = [];
    const source: KeySource = { clientPrefix, send: (command) => this.#source.send(request, command) };
    const cursor = await scanPage(source, request, {
      caller: "listIndexes",
      pattern: (clientPrefix) => entriesPattern(clientPrefix, keyPrefix, request.prefix),
      room: () => request.limit - names.length,
      take: async (key) => {
        const index = indexOf(keyPrefix, key);
        const first = { index, direction: "up", limit: 1, after: undefined, signal: request.signal } as const;
        const { entries, next } = await this.listEntries(first);
        if (entries.length > 0 || next !== undefined) names.push(index);
      },
    });
    return { names, ...(cursor !== undefined && { cursor }) };
  }

  async #run(
    verb: string,
    request: { readonly index: string; readonly signal: AbortSignal | undefined },
    values: readonly string[],
  ): Promise<string[]> {
    const { keyPrefix, send } = this.#source;
    const { entries, values: hash } = indexKeys(keyPrefix, request.index);
    const arguments_ = [verb, `${Date.now()}`, ...values];
    const reply = (await send(request, (commands) =>
      runScript(commands, entriesScript, [entries, hash], arguments_),
    )) as string[];
    if (reply[0] === "incomplete")
      throw new StoreError(
        "CORRUPT",
        `index "${request.index}" has lost a part of its entries, as when maxmemory-policy evicts keys; the rest was removed, so its list must be made again`,
      );
    return reply;
  }
}

function argumentsOf(put: EntryPut): string[] {
  const { key, id, version, value, expiresAt } = put;
  return [key, id, `${version}`, `${expiresAt ?? ""}`, SortKey.of(put), value];
}

function entryOf(key: string, [id, version, expiry, sort, value]: Stored): StoredEntry {
  return {
    ...{ key, id, version: Number(version), order: SortKey.orderOf(sort), value },
    ...(expiry !== "" && { expiresAt: Number(expiry) }),
  };
}
