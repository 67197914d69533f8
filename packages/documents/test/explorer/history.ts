import type { StoreOptions } from "@scrollback/store-core";
import { trimmed } from "../../../../conformance-tests/src/trimming-oracle.ts";

/** A call of the explored program. The explorer and its model use nothing of the driver but its interface. */
export type Call = (
  | {
      readonly kind: "commit";
      /** The messages to append, one letter each. `S` is a system message. */
      readonly append?: string;
      readonly drop?: number | "all";
      readonly maxMessages?: number;
      /** Default: `"exact"`. */
      readonly trimming?: StoreOptions["trimming"];
      readonly ttlMs?: number;
      /** Whether it expects the revision from before the exploration. Default: any revision. */
      readonly expectsKnown?: boolean;
    }
  | { readonly kind: "delete" }
  | { readonly kind: "read" }
) & {
  /** The number of jumps of time after which the call begins at the earliest. Default: 0. */
  readonly after?: number;
};

/** The end of a call. A conflict's revision is that of the thread; `null`: there is none. */
export type Result =
  | { readonly kind: "committed" | "conflict"; readonly revision: string | null }
  | { readonly kind: "deleted" }
  | { readonly kind: "seen"; readonly revision: string | null; readonly texts: readonly string[] };

/** A call from its beginning to its end, both as positions in the order of all beginnings and ends. */
export interface Event {
  readonly call: Call;
  /** The revision that a commit expects, if it expects one. */
  readonly expected?: string | undefined;
  readonly begin: number;
  readonly beginWall: number;
  end: number;
  endWall: number;
  /** Absent: it is unknown whether the call has an effect, now or later. */
  result?: Result;
}

interface Thread {
  /** Unknown until a call shows it. */
  readonly incarnation: string | undefined;
  readonly n: number;
  readonly texts: readonly string[];
  /** It exists before the first time, and no longer exists from the second one on. */
  readonly expires: readonly [earliest: number, latest: number];
}

/** The thread, and the incarnations that were seen. */
interface State {
  readonly thread: Thread | undefined;
  readonly seen: readonly string[];
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Whether calls took effect one after the other, each between its beginning and its end. A call without a result may also have no
 * effect. A revision is an incarnation and the number of its commits: no incarnation is used again.
 */
export function isLinearizable(events: readonly Event[], skew: number): boolean {
  const search = (left: readonly Event[], state: State): boolean => {
    if (left.every(({ result }) => result === undefined)) return true;
    const earliestEnd = Math.min(...left.map(({ result, end }) => (result ? end : NEVER)));
    return left.some((event) => {
      if (event.begin > earliestEnd) return false;
      const others = left.filter((one) => one !== event);
      if (!event.result && search(others, state)) return true;
      return variantsOf(state, event, skew).some((before) => {
        const after = stateAfter(before, event, skew);
        // A thread that has expired by the clock of a reader may exist by that of another process.
        const isUnchanged = event.call.kind === "read" || event.result?.kind === "conflict";
        return after !== undefined && search(others, isUnchanged && !before.thread ? state : after);
      });
    });
  };
  return search(events, { thread: undefined, seen: [] });
}

/** The states that a call may meet: the thread, and none if the thread may have expired. */
function variantsOf(state: State, { beginWall, endWall }: Event, skew: number): State[] {
  const { thread } = state;
  if (!thread) return [state];
  const [earliest, latest] = thread.expires;
  return [
    ...(beginWall - skew < latest ? [state] : []),
    ...(endWall + skew >= earliest ? [{ ...state, thread: undefined }] : []),
  ];
}

function stateAfter(state: State, event: Event, skew: number): State | undefined {
  const { call, result } = event;
  const { thread } = state;
  if (call.kind === "read" || result?.kind === "conflict") {
    if (!result || result.kind === "deleted") return undefined;
    if (result.kind === "conflict" && result.revision === event.expected) return undefined;
    if (result.kind === "seen" && result.texts.join() !== (thread?.texts ?? []).join()) return undefined;
    return shown(state, result.revision);
  }
  if (call.kind === "delete") return { ...state, thread: undefined };
  if (event.expected !== undefined && !shown(state, event.expected)) return undefined;
  const { append = "", drop = 0, maxMessages = NEVER, trimming = "exact", ttlMs = NEVER } = call;
  const kept = drop === "all" ? [] : (thread?.texts ?? []).slice(0, (thread?.texts.length ?? 0) - drop);
  const messages = [...kept, ...append].map(
    (content) => ({ role: content === "S" ? "system" : "user", content }) as const,
  );
  const next: Thread = {
    incarnation: thread?.incarnation,
    n: (thread?.n ?? 0) + 1,
    texts: trimmed(messages, maxMessages, trimming).map(({ content }) => String(content)),
    expires: [event.beginWall + ttlMs - skew, event.endWall + ttlMs + skew],
  };
  const after = { ...state, thread: next };
  return result?.kind === "committed" ? shown(after, result.revision) : after;
}

/** The state after a call has shown a revision; undefined if it cannot be this one. */
function shown({ thread, seen }: State, revision: string | null): State | undefined {
  if (revision === null || !thread) return revision === null && !thread ? { thread, seen } : undefined;
  const [incarnation = "", n] = revision.split(/\.(?=[^.]*$)/);
  if (Number(n) !== thread.n) return undefined;
  if (thread.incarnation !== undefined)
    return thread.incarnation === incarnation ? { thread, seen } : undefined;
  if (seen.includes(incarnation)) return undefined;
  return { thread: { ...thread, incarnation }, seen: [...seen, incarnation] };
}
