import type { Revision } from "@scrollback/store-core";
import { planCommit, SequenceBounds } from "@scrollback/store-core/driver";
import type { MessageKind } from "@scrollback/store-core/internal";
import type { Operation, Text } from "./operation.ts";

/** A text and its position in the rows of a commit. */
export interface Placed {
  readonly text: Text;
  /** Its position in the row of its commit, then the positions of its pieces, if it was cut. */
  readonly spots: readonly { readonly row: number; readonly index: number }[];
}

/** The thread that the protocol requires after a commit. */
export interface ThreadState {
  readonly revision: Revision;
  readonly bounds: SequenceBounds;
  /** The messages `bounds.first` to `bounds.next - 1`. */
  readonly messages: readonly Placed[];
  /** The pinned messages, in order. */
  readonly pinned: readonly Placed[];
  readonly metadata: Placed | undefined;
}

/** The positions of the texts of a commit's operation: by index, metadata last. */
export type Placement = (text: Text, index: number) => Placed;

export interface AppliedCommit {
  readonly plan: ReturnType<typeof planCommit>;
  readonly state: ThreadState;
  /** All texts of the commit. */
  readonly written: readonly Text[];
  /** The texts that the commit made unreadable, of the previous thread and of the commit itself. */
  readonly dead: readonly Text[];
}

/** Applies an operation to a state; undefined: to a thread that does not exist. */
export function apply(
  before: ThreadState | undefined,
  operation: Operation,
  revision: Revision,
  place: Placement,
): AppliedCommit {
  const bounds = before?.bounds ?? SequenceBounds.EMPTY;
  const appended = operation.append.map(place);
  const placedAt = (sequence: number, kept: SequenceBounds): Placed | undefined => {
    if (sequence >= kept.next) return appended[sequence - kept.next];
    const index = SequenceBounds.pinnedOf(bounds).indexOf(sequence);
    if (index >= 0) return before?.pinned[index];
    return before?.messages[sequence - bounds.first];
  };
  const plan = planCommit(
    bounds,
    { drop: operation.drop, append: operation.append.map(({ record }) => record) },
    operation.settings,
    (sequence, kept) => (placedAt(sequence, kept)?.text.kind ?? "o") as MessageKind,
    { userless: 1, startless: 1, newestCompaction: newestCompactionIn(before) },
  );
  const { first, next } = plan.bounds;
  const messages: Placed[] = [];
  for (let sequence = first; sequence < next; sequence++) {
    const placed = placedAt(sequence, plan.kept);
    if (placed) messages.push(placed);
  }
  const set = operation.metadata ? place(operation.metadata, appended.length) : undefined;
  const state = {
    revision,
    bounds: plan.bounds,
    messages,
    pinned: SequenceBounds.pinnedOf(plan.bounds).flatMap((sequence) => placedAt(sequence, plan.kept) ?? []),
    metadata: operation.metadata === undefined ? before?.metadata : set,
  };
  const written = [...appended, ...(set ? [set] : [])].map(({ text }) => text);
  return { plan, state, written, dead: deadTexts(before, appended, plan, state) };
}

/** The sequence number of a state's newest compaction item; 0: there is none. */
export function newestCompactionIn(state: ThreadState | undefined): number {
  if (!state) return 0;
  const index = state.messages.findLastIndex(({ text }) => text.kind === "k");
  return index < 0 ? (state.bounds.compaction ?? 0) : state.bounds.first + index;
}

function deadTexts(
  before: ThreadState | undefined,
  appended: readonly Placed[],
  { kept, bounds }: ReturnType<typeof planCommit>,
  after: ThreadState,
): Text[] {
  const dead: Text[] = [];
  if (before) {
    const { first } = before.bounds;
    const dies = (sequence: number) => sequence >= kept.next || !SequenceBounds.isWithin(bounds, sequence);
    before.messages.forEach(({ text }, index) => {
      if (dies(first + index)) dead.push(text);
    });
    SequenceBounds.pinnedOf(before.bounds).forEach((sequence, index) => {
      const { text } = before.pinned[index] ?? {};
      if (text && dies(sequence)) dead.push(text);
    });
    if (before.metadata && before.metadata !== after.metadata) dead.push(before.metadata.text);
  }
  appended.forEach(({ text }, index) => {
    if (!SequenceBounds.isWithin(bounds, kept.next + index)) dead.push(text);
  });
  return dead;
}

/** The numbers of the rows that a state needs. */
export function rowsOf(state: ThreadState): Set<number> {
  return new Set(placedIn(state).flatMap(({ spots }) => spots.map(({ row }) => row)));
}

/** All texts of a state. */
export function placedIn({ messages, pinned, metadata }: ThreadState): Placed[] {
  return [...pinned, ...messages, ...(metadata ? [metadata] : [])];
}
