import { randomUUID } from "node:crypto";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { ChatMessage } from "@scrollback/store-core";
import { startServer } from "../../conformance-tests/servers/index.ts";
import type { ServerName } from "../../conformance-tests/servers/servers.ts";
import { type Contestant, chunksOf, type OpenedStores } from "./contestant.ts";
import type { BackendResults } from "./results.ts";
import { countRoundTrips } from "./round-trips.ts";

/** A checkpointer of LangGraph on a connection of its own. */
export interface OpenedSaver {
  readonly saver: BaseCheckpointSaver;
  close(): Promise<unknown>;
}

/** A backend to measure, at a URL. Each contestant has a connection of its own, with the same options. */
export interface Definition extends Pick<BackendResults, "title" | "versions" | "baseline" | "other"> {
  raw(url: string): Promise<Contestant>;
  stores(url: string, maxMessages: number | undefined): OpenedStores;
  /** The other library. */
  compared?(url: string): Promise<Contestant>;
  /** LangGraph's own class for this backend. */
  saver?(url: string): Promise<OpenedSaver>;
  /** Makes the tables or indexes, as on a server in production. */
  prepare?(): Promise<void>;
  /** Removes what was written. */
  remove(): Promise<void>;
}

/** An open backend. */
export interface Backend {
  readonly definition: Definition;
  /** The URL of the server, or the path of a folder. */
  readonly url: string;
  /** The same server through a proxy that counts requests. Absent without a network. */
  readonly counted?: { readonly url: string; requests(): number };
  close(): Promise<void>;
}

/** The location of what one run writes. */
export interface Location {
  readonly product: string;
  readonly version: string;
  readonly url: string;
  /** The prefix of the run's keys, collections or tables. Lowercase letters and digits. */
  readonly run: string;
}

/** A backend on a server that is started for it and stopped with it. */
export async function openOnServer(
  name: ServerName,
  define: (location: Location) => Definition,
): Promise<Backend> {
  const server = await startServer(name);
  try {
    const { url, product, version } = server;
    const definition = define({ url, product, version, run: randomUUID().replaceAll("-", "") });
    await definition.prepare?.();
    const counter = await countRoundTrips(server);
    const counted = new URL(url);
    counted.host = `127.0.0.1:${counter.port}`;
    return {
      definition,
      url,
      counted: { url: counted.href, requests: counter.count },
      async close() {
        await definition.remove();
        await counter.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The size in bytes of what an adapter stores beside the messages of a commit: the raw clients write the same size. */
export const HEAD = "h".repeat(280);

/** One commit of a raw client. */
export interface RawRow {
  readonly threadId: string;
  readonly number: number;
  /** The messages as JSON. */
  readonly texts: readonly string[];
}

/** The requests of a raw client that keeps a row for each commit. */
export interface RawLog extends Pick<Contestant, "fillThreads" | "list" | "close"> {
  insert(row: RawRow): Promise<unknown>;
  insertMany(rows: readonly RawRow[]): Promise<unknown>;
  /** The texts of the newest rows, newest row first. */
  read(threadId: string, limit: number): Promise<readonly (readonly string[])[]>;
}

/** More rows than any thread has. */
export const MANY = 1_000_000;

/**
 * A raw client with one row for each commit, without comparing, remembering or trimming.
 *
 * @param numbers the number of commits of each thread, over all connections, so that writers never use the same number.
 */
export function rawLog(log: RawLog, numbers: Map<string, number>): Contestant {
  const next = (threadId: string, messages: readonly ChatMessage[]): RawRow => {
    const number = (numbers.get(threadId) ?? 0) + 1;
    numbers.set(threadId, number);
    return { threadId, number, texts: messages.map((message) => JSON.stringify(message)) };
  };
  const read = async (threadId: string, limit: number): Promise<unknown[]> => {
    const rows = await log.read(threadId, limit);
    return rows.flatMap((texts) => texts.toReversed().map((text): unknown => JSON.parse(text))).reverse();
  };
  return {
    ...log,
    async fill(threadId, messages) {
      for (const chunk of chunksOf(messages, 1_000))
        await log.insertMany(chunk.map((message) => next(threadId, [message])));
    },
    open: (threadId) => ({
      append: (messages) => () => log.insert(next(threadId, messages)),
      newest: (count) => async () => (await read(threadId, count)).slice(-count),
      all: () => () => read(threadId, MANY),
    }),
  };
}
