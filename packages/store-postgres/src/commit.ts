import { StoreError } from "@scrollback/store-core";
import type { CommitOutcome, CommitRequest } from "@scrollback/store-core/driver";
import type { Value } from "./sessions.ts";
import { SEPARATOR, toBigint, toText } from "./text.ts";

/** The arguments of `commit_v1`. */
export function commitArguments(request: CommitRequest): Value[] {
  const { append, drop, metadata, maxMessages, ttlMs } = request;
  return [
    toText(request.threadId),
    toText(request.operationId),
    request.digest,
    request.newIncarnation,
    expectedArgument(request.expectedRevision),
    drop === "all" ? -1 : drop,
    append.length === 0 ? null : append.map(({ text }) => toText(text)).join(SEPARATOR),
    append.map(({ kind }) => kind).join(""),
    timesArgument(request),
    metadata === undefined ? null : toText(metadata ?? ""),
    maxMessages === undefined ? null : toBigint(maxMessages),
    request.trimming === "exact",
    ttlMs === undefined ? null : toBigint(ttlMs),
    request.createdAt,
    request.updatedAt,
  ];
}

/** The times of the messages as `commit_v1` takes them. */
function timesArgument({ append, updatedAt }: CommitRequest): string | null {
  const times = append.map(({ createdAt }) => createdAt);
  return times.every((time) => time === updatedAt) ? null : times.join();
}

/** The expected revision as the functions take it. */
export function expectedArgument(expected: string | null | undefined): string | null {
  return expected === undefined ? null : toText(expected ?? "");
}

/** The outcome that a function returned: its name, a space, and a revision, or nothing. */
export function outcomeOf(reply: unknown): { readonly outcome: string; readonly revision: string | null } {
  const [outcome = "", revision = ""] = String(reply).split(" ");
  return { outcome, revision: revision || null };
}

/** The outcome of a commit. @throws StoreError `UNAVAILABLE` for a reply that the function does not give. */
export function commitOutcomeOf(reply: unknown): CommitOutcome {
  const { outcome, revision } = outcomeOf(reply);
  if (outcome === "revision-conflict" || outcome === "operation-conflict") return { outcome, revision };
  if (revision !== null && (outcome === "committed" || outcome === "repeated")) return { outcome, revision };
  throw new StoreError("UNAVAILABLE", "postgres: the server's reply is none of a commit");
}
