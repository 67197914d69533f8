import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { ChatMessage, StoreOptions } from "@scrollback/store-core";

/** A change, with its messages given as texts. */
export interface ObservedChange {
  readonly drop: number | "all";
  readonly append: readonly string[];
  /** Undefined: kept; `null`: removed. */
  readonly metadata?: string | null;
}

/** The call that a client makes. */
export type Action =
  | {
      readonly kind: "commit";
      readonly operationId: string;
      readonly change: ObservedChange;
      /** Undefined: any. */
      readonly expected?: string | null;
    }
  | { readonly kind: "pop" }
  | { readonly kind: "read"; readonly limit?: number }
  | { readonly kind: "list"; readonly limit?: number };

/** The outcome of a call. */
export type Outcome =
  | { readonly kind: "committed"; readonly revision: string | null }
  | { readonly kind: "popped"; readonly text: string | null }
  | {
      readonly kind: "page";
      readonly revision: string | null;
      readonly entries: readonly (readonly [sequence: number, text: string])[];
      readonly metadata: string | null;
      /** Whether the page has a cursor to older messages. */
      readonly older: boolean;
    }
  | { readonly kind: "texts"; readonly texts: readonly string[] }
  | { readonly kind: "refused"; readonly code: string }
  /** It may have taken effect, then or later, or not: no reply came, or the client was killed. */
  | { readonly kind: "unknown"; readonly code: string; readonly retryable?: boolean };

/** One call of one client. Times are microseconds of the machine's monotonic clock, which all its processes share. */
export interface Observation {
  readonly client: string;
  readonly thread: string;
  readonly action: Action;
  readonly outcome: Outcome;
  readonly called: number;
  /** Infinity if the call never returned. */
  readonly returned: number;
}

/** A thread of a run, and the settings that all stores of it have. */
export interface ObservedThread extends Pick<StoreOptions, "maxMessages" | "trimming" | "ttlMs"> {
  readonly threadId: string;
}

const roles: Readonly<Record<string, ChatMessage["role"]>> = {
  s: "system",
  u: "user",
  a: "assistant",
  t: "tool",
};

/** The end of the text of a message that is larger than an item or a document of some backends. */
export const LARGE = "L";
const padding = "x".repeat(450_000);

/** The message of a text. The first letter is its role. */
export function messageOf(text: string): ChatMessage {
  return { role: roles[text[0] ?? ""] ?? "user", content: `${text} ${text.endsWith(LARGE) ? padding : ""}` };
}

/** The text of a message of {@link messageOf}. */
export function textOf({ content }: ChatMessage): string {
  return typeof content === "string" ? (content.split(" ", 1)[0] ?? "") : "no text";
}

/** Microseconds of a clock that all processes share. In Bun and Deno, `hrtime` begins with the process. */
export const now =
  "bun" in process.versions || "deno" in process.versions
    ? () => Date.now() * 1_000
    : () => Number(process.hrtime.bigint() / 1_000n);

type Line =
  | { readonly id: string; readonly call: Pick<Observation, "client" | "thread" | "action" | "called"> }
  | { readonly id: string; readonly outcome: Outcome; readonly returned: number };

/** A file of observations, with a line before and after each call. It survives a killed process. */
export class ObservationLog implements Disposable {
  readonly #file: number;
  #calls = 0;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  /** Makes a call and writes its outcome. `run` never rejects. */
  async observe(
    client: string,
    thread: string,
    action: Action,
    run: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const id = `${client}/${++this.#calls}`;
    this.#write({ id, call: { client, thread, action, called: now() } });
    const outcome = await run();
    this.#write({ id, outcome, returned: now() });
    return outcome;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #write(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

/** The observations in a log. A call without a return has an unknown outcome. */
export function readObservations(path: string): Observation[] {
  const found = new Map<string, Observation>();
  // A killed process may leave an incomplete line.
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  for (const text of lines) {
    const line: Line = JSON.parse(text);
    if ("call" in line) {
      const outcome = { kind: "unknown", code: "killed" } as const;
      found.set(line.id, { ...line.call, outcome, returned: Number.POSITIVE_INFINITY });
    } else {
      const before = found.get(line.id);
      if (before) found.set(line.id, { ...before, outcome: line.outcome, returned: line.returned });
    }
  }
  return [...found.values()];
}
