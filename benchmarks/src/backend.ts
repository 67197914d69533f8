import type { ChatMessage } from "@scrollback/store-core";

/** One call, ready to be made and timed. */
export type Call = () => Promise<unknown>;

/** A thread as one contestant keeps it. Each method prepares a call, so that only what the call itself does is timed. */
export interface Thread {
  append(messages: readonly ChatMessage[]): Call;
  /** Resolves to the newest messages, oldest first. */
  newest(count: number): () => Promise<unknown[]>;
  /** Resolves to all messages, oldest first. */
  all(): () => Promise<unknown[]>;
}

/** One way to keep threads in a backend, on a connection of its own. */
export interface Contestant {
  /** The longest thread that it can hold, or that is measured; absent for any. Longer ones are left out. */
  readonly longest?: number;
  /** Writes a thread's messages quickly. They lie as single commits leave them, unless the backend keeps no commits apart. */
  fill(threadId: string, messages: readonly ChatMessage[]): Promise<unknown>;
  /** A filled thread that from now on keeps at most `maxMessages`, where the library can. */
  open(threadId: string, maxMessages: number): Thread;
  /** What `newest` and `all` give for these messages. */
  expected(messages: readonly ChatMessage[]): unknown[];
  close(): Promise<unknown>;
}

/** Where a backend's threads lie, as plain data that another process can be given. */
export interface Location {
  readonly product: string;
  readonly version: string;
  /** Of the server, or the path of a folder. */
  readonly url: string;
  /** What one run names its own: keys, collections or tables. Small letters and digits. */
  readonly run: string;
}

/** Opens a connection of its own to the server or folder of a URL. */
export type Connect = (url: string) => Promise<Contestant>;

/** Who is compared, in the order of the table's columns. */
export const contestantNames = [
  "raw",
  "Scrollback",
  "LangChain.js",
  "LangChain.js, ioredis",
  "Mastra",
] as const;
export type ContestantName = (typeof contestantNames)[number];

/** The libraries that ours is compared with. */
export const peerNames = contestantNames.filter((name) => name !== "raw" && name !== "Scrollback");

/** The raw client and ours everywhere, other libraries where they apply. */
export type Connects = Readonly<Record<"raw" | "Scrollback", Connect>> &
  Readonly<Partial<Record<ContestantName, Connect>>>;

/** What every backend's figures are named by, in the order of the report. */
export const backendKeys = [
  "redis",
  "mongodb",
  "dynamodb",
  "postgres",
  "sqlite-full",
  "sqlite-normal",
] as const;
export type BackendKey = (typeof backendKeys)[number];

/**
 * What is measured on. To add a backend, write its file in `backends/` and name it here and in `backends/index.ts`.
 */
export interface Backend {
  readonly key: BackendKey;
  readonly title: string;
  /** Products and versions, server first. */
  readonly versions: readonly string[];
  /** In words, what the raw client does for a commit and for a read. */
  readonly baseline: string;
  readonly location: Location;
  readonly connect: Connects;
  /** The same server through a proxy that counts round trips. Absent where there is no network. */
  readonly counted?: { readonly url: string; roundTrips(): number };
  /** The processor time that the server has taken so far, in microseconds. Absent where there is no server, or none to look into. */
  readonly serverCpu?: () => Promise<number>;
  /** Removes what was written and ends what was started. */
  close(): Promise<void>;
}
