import type { ChatMessage } from "@scrollback/store-core";

/** One prepared call, to be timed. */
export type Call = () => Promise<unknown>;

/** A thread of one contestant. Each method prepares a call, so that only the call itself is timed. */
export interface Thread {
  append(messages: readonly ChatMessage[]): Call;
  /** Resolves to the newest messages, oldest first. */
  newest(count: number): () => Promise<unknown[]>;
  /** Resolves to all messages, oldest first. */
  all(): () => Promise<unknown[]>;
}

/** One way to keep threads in a backend, with its own connection. */
export interface Contestant {
  /** The longest thread that it can store or that is measured for it; absent without a limit. Longer threads are left out. */
  readonly longest?: number;
  /**
   * Writes a thread's messages fast. The stored rows are those of single commits, unless the backend does not keep commits apart.
   */
  fill(threadId: string, messages: readonly ChatMessage[]): Promise<unknown>;
  /** Opens a filled thread that keeps at most `maxMessages` from now on, if the library can limit it. */
  open(threadId: string, maxMessages: number): Thread;
  /** The result of `newest` and `all` for these messages. */
  expected(messages: readonly ChatMessage[]): unknown[];
  close(): Promise<unknown>;
}

/** The location of a backend's threads, as plain data that can be passed to another process. */
export interface Location {
  readonly product: string;
  readonly version: string;
  /** The URL of the server, or the path of a folder. */
  readonly url: string;
  /** The prefix of one run's keys, collections or tables. Lowercase letters and digits. */
  readonly run: string;
}

/** Opens a separate connection to the server or folder of a URL. */
export type Connect = (url: string) => Promise<Contestant>;

/** The contestants, in the order of the table's columns. */
export const contestantNames = [
  "raw",
  "Scrollback",
  "LangChain.js",
  "LangChain.js, ioredis",
  "Mastra",
] as const;
export type ContestantName = (typeof contestantNames)[number];

/** The libraries that Scrollback is compared with. */
export const peerNames = contestantNames.filter((name) => name !== "raw" && name !== "Scrollback");

/** The raw client and Scrollback on every backend, other libraries where they support it. */
export type Connects = Readonly<Record<"raw" | "Scrollback", Connect>> &
  Readonly<Partial<Record<ContestantName, Connect>>>;

/** The keys of the backends' figures, in the order of the report. */
export const backendKeys = [
  "redis",
  "mongodb",
  "dynamodb",
  "postgres",
  "sqlite-full",
  "sqlite-normal",
] as const;
export type BackendKey = (typeof backendKeys)[number];

/** The backend to measure. To add a backend, write its file in `backends/` and add its name here and in `backends/index.ts`. */
export interface Backend {
  readonly key: BackendKey;
  readonly title: string;
  /** Products and versions, server first. */
  readonly versions: readonly string[];
  /** A description of the raw client's commit and read. */
  readonly baseline: string;
  readonly location: Location;
  readonly connect: Connects;
  /** The same server through a proxy that counts round trips. Absent without a network. */
  readonly counted?: { readonly url: string; roundTrips(): number };
  /**
   * The processor time that the server has used so far, in microseconds. Absent without a server whose processor time can be
   * read.
   */
  readonly serverCpu?: () => Promise<number>;
  /** Removes what was written and stops what was started. */
  close(): Promise<void>;
}
