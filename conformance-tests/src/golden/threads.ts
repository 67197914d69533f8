import type { Change, ChatMessage, Part, StoreOptions } from "@scrollback/store-core";
import { assistant, carrying, numbered, system, toolCall, toolResult, user } from "../messages/messages.ts";

/** A thread of the golden files: how it was written, and what every later version must read and do. */
export interface GoldenThread {
  readonly threadId: string;
  readonly settings?: Pick<StoreOptions, "maxMessages" | "trimming" | "ttlMs">;
  /** The commits that wrote it; `operationOf` returns the id of each, `timeOf` its time. */
  readonly changes: readonly Change[];
  /** Whether it has expired. */
  readonly isExpired?: true;
  /** Its messages, by sequence number. */
  readonly entries: readonly (readonly [sequence: number, message: ChatMessage])[];
  readonly metadata?: unknown;
  /** Its sequence numbers after one more commit of one user message. */
  readonly next: readonly number[];
}

/** The message of that commit. */
export const nextMessage = user("one more");

/** The operation id of a thread's change number `index`, from 0. */
export const operationOf = (threadId: string, index: number) => `${threadId} ${index + 1}`;

/** The time of a thread's change number `index`. */
export const timeOf = (index: number) => 1_700_000_000_000 + index * 1_000;

/** The entries of a thread from which nothing was removed. */
const all = (messages: readonly ChatMessage[]) =>
  messages.map((message, index) => [index + 1, message] as const);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

const plain = [
  system("Be brief."),
  user("Where is the harbour?"),
  assistant("Line 4."),
  user("Thanks! 💬 é\n"),
];

const tools = [user("Look here and there."), toolCall("here"), toolResult("here"), assistant("Nothing.")];

const parts: readonly ChatMessage[] = [
  {
    id: "m1",
    role: "user",
    authorName: "Ada",
    createdAt: new Date("2026-01-02T03:04:05.678Z"),
    metadata: { starred: true },
    content: [
      { type: "text", text: "What is this?", providerOptions: { acme: { cache: true } } },
      { type: "file", mediaType: "image/png", filename: "a.png", data: Uint8Array.of(0, 1, 127, 128, 255) },
      { type: "file", mediaType: "image/png", data: new URL("https://example.com/b.png?c=d") },
      { type: "image", image: Uint8Array.of(1, 2, 3).buffer },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "A chart, I think." },
      { type: "tool-call", toolCallId: "t1", toolName: "send", input: { "a.b": [1, null, "$set"] } },
      { type: "tool-approval-request", approvalId: "a1", toolCallId: "t1" },
      // Parts of types unknown to the library pass through.
      { type: "chart", points: [1, 2.5, -3e100] } as unknown as Part,
    ],
  },
  {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: "a1", approved: false, reason: "no" }],
  },
  {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "t1", toolName: "send", output: null, isError: true }],
  },
];

/** Values that JSON cannot carry. */
const values = {
  date: new Date("1969-12-31T23:59:59.999Z"),
  invalidDate: new Date(Number.NaN),
  map: new Map<unknown, unknown>([
    ["a", new Set([1n, undefined])],
    [{ key: "an object" }, new Date(0)],
  ]),
  bigint: -12345678901234567890n,
  numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
  absent: { undefined: undefined, null: null, list: [undefined, null] },
  url: new URL("https://user@example.com:8080/a?b#c"),
  pattern: /a\/b[^"]*/giu,
  error: new TypeError("went wrong", { cause: new Error("deeper") }),
  bytes: {
    buffer: Uint8Array.of(9, 8, 7).buffer,
    floats: Float64Array.of(0.1, -0, Number.NaN),
    bigs: BigInt64Array.of(-1n, 2n ** 62n),
    words: Uint16Array.of(1, 65535),
  },
  keys: Object.fromEntries(
    ["__proto__", "constructor", "prototype", "a.b", "$set", "\n", "", "💬"].map((key) => [key, key]),
  ),
  text: "a\u0000b \ud800 \u2028 \ufffd \ud83d\udcac",
};

/** Characters of one to four bytes. */
const long = "naïve 日本 💬 ".repeat(200);

/**
 * The threads of version 1 of the record format. Never changed, because stores with them exist; a new version gets new threads.
 */
export const goldenThreads: readonly GoldenThread[] = [
  {
    threadId: "plain",
    changes: [
      { append: plain.slice(0, 2), metadata: { title: "Harbour" } },
      { append: plain.slice(2, 3) },
      { append: plain.slice(3), metadata: { title: "To the harbour" } },
    ],
    entries: all(plain),
    metadata: { title: "To the harbour" },
    next: upTo(5),
  },
  {
    threadId: "tools",
    changes: [{ append: tools.slice(0, 2) }, { append: tools.slice(2) }],
    entries: all(tools),
    next: upTo(5),
  },
  { threadId: "parts", changes: [{ append: parts }], entries: all(parts), next: upTo(5) },
  {
    threadId: "values",
    changes: [{ append: [carrying(values)], metadata: values }],
    entries: all([carrying(values)]),
    metadata: values,
    next: upTo(2),
  },
  {
    threadId: `a:b/{c}%7B\n\u0000*"$ 💬`,
    changes: [{ append: numbered(2) }],
    entries: all(numbered(2)),
    next: upTo(3),
  },
  {
    threadId: "dropped",
    changes: [
      { append: numbered(4), metadata: "kept" },
      { drop: 3, append: numbered(2, "instead") },
      { drop: 1 },
    ],
    entries: all([...numbered(1), ...numbered(1, "instead")]),
    metadata: "kept",
    next: upTo(3),
  },
  {
    threadId: "trimmed",
    settings: { maxMessages: 4, trimming: "turns" },
    changes: [{ append: [system("Be brief.")] }, ...numbered(69).map((message) => ({ append: [message] }))],
    entries: [
      [1, system("Be brief.")],
      [68, user("message 67")],
      [69, user("message 68")],
      [70, user("message 69")],
    ],
    next: [1, 69, 70, 71],
  },
  {
    threadId: "cleared",
    changes: [
      { append: numbered(3), metadata: "gone" },
      { drop: "all", metadata: null },
    ],
    entries: [],
    next: [4],
  },
  {
    threadId: "cleared and filled",
    changes: [
      { append: numbered(3) },
      { drop: "all", metadata: null },
      { append: numbered(2, "new"), metadata: 0 },
    ],
    entries: [
      [4, user("new 1")],
      [5, user("new 2")],
    ],
    metadata: 0,
    next: [4, 5, 6],
  },
  {
    threadId: "expiring",
    settings: { ttlMs: 100 * 365 * 24 * 3_600_000 },
    changes: [{ append: numbered(2), metadata: "still here" }],
    entries: all(numbered(2)),
    metadata: "still here",
    next: upTo(3),
  },
  {
    threadId: "large",
    changes: [
      { append: [user("small"), assistant(long), user(long)], metadata: [long] },
      { append: numbered(1) },
    ],
    entries: all([user("small"), assistant(long), user(long), ...numbered(1)]),
    metadata: [long],
    next: upTo(5),
  },
  // Written last, and not read before it expires.
  {
    threadId: "expired",
    settings: { ttlMs: 5_000 },
    isExpired: true,
    changes: [{ append: numbered(2), metadata: "gone" }],
    entries: [],
    next: [1],
  },
];
