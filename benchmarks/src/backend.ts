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

/** One way to keep threads in a backend. */
export interface Contestant {
  /** The longest thread that it can hold; absent for any. Longer ones are left out. */
  readonly longest?: number;
  /** Puts messages at the end of a thread by the quickest way. */
  fill(threadId: string, messages: readonly ChatMessage[]): Promise<unknown>;
  /** A filled thread that from now on keeps at most `maxMessages`, where the library can. */
  open(threadId: string, maxMessages: number): Thread;
  /** What `newest` and `all` give for these messages. */
  expected(messages: readonly ChatMessage[]): unknown[];
}

/** Who is compared, in the order of the table's columns. */
export const contestantNames = ["raw", "Scrollback", "LangChain.js"] as const;
export type ContestantName = (typeof contestantNames)[number];

/** The raw client and ours everywhere, another library where it applies. */
export type Contestants = Readonly<Record<"raw" | "Scrollback", Contestant>> &
  Readonly<Partial<Record<ContestantName, Contestant>>>;

/**
 * What is measured on. To add a backend, write its file in `backends/` and name it in `backends/index.ts`.
 */
export interface Backend {
  readonly name: string;
  /** Products and versions, server first. */
  readonly versions: readonly string[];
  /** In words, what the raw client does for a commit and for a read. */
  readonly baseline: string;
  /**
   * How much longer than the raw client's a commit and a read may take, and how much longer LangChain.js is to take for a
   * batch, where it writes one message after the other.
   */
  readonly targets: { readonly commit: number; readonly read: number; readonly batchLead?: number };
  readonly contestants: Contestants;
  /** The same contestants over connections whose round trips are counted. Absent where there is no network. */
  readonly counted?: { readonly contestants: Contestants; roundTrips(): number };
  /** Removes what was written and closes what was opened. */
  close(): Promise<void>;
}
