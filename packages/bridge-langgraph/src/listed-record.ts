import type { Listed, Lists, Member, Missing, RecordOf, Records, Snapshot } from "@scrollback/collections";
import type { Revision } from "@scrollback/store-core";

/** What each value of a listed record has. */
export interface Stored {
  /** Random, new for each creation. */
  readonly incarnation: string;
  /** The number of writes of this incarnation. */
  readonly writes: number;
}

/** A listed record at one revision. Its place in the list never changes, so that only its creation tells its entry. */
export interface RecordSnapshot<V extends Stored = Stored> extends Snapshot<true> {
  readonly value: V;
}

/** A record in its list. */
export interface ListedRecord<V extends Stored> extends Member<true, RecordSnapshot<V>> {
  set(value: V, listed: Listed, expectedRevision: Revision | null): Promise<RecordSnapshot<V>>;
}

export function listedRecord<V extends Stored>(
  records: Records<V>,
  parts: readonly string[],
  place: Pick<Member<true>, "key" | "names" | "bases">,
): ListedRecord<V> {
  const set: ListedRecord<V>["set"] = async (value, listed, expectedRevision) => {
    const revision = await records.set(parts, value, { expectedRevision, listed });
    return snapshotOf({ value, revision, listed });
  };
  return {
    ...place,
    threadId: records.threadId(parts),
    set,
    async read(signal): Promise<RecordSnapshot<V> | Missing> {
      const found = await records.get(parts, signal ? { signal } : {});
      return found?.listed ? snapshotOf({ ...found, listed: found.listed }) : { revision: null };
    },
    place: ({ value, revision }, listed) => set({ ...value, writes: value.writes + 1 }, listed, revision),
  };
}

/** Creates a record at the revision of a missing one. */
export async function createRecord<V extends Stored>(
  lists: Lists<true, RecordSnapshot<V>>,
  record: ListedRecord<V>,
  {
    value,
    order,
    revision,
  }: { readonly value: V; readonly order: number; readonly revision: Revision | null },
): Promise<RecordSnapshot<V>> {
  const draft = { version: value.writes, order, told: true as const };
  return await lists.write(record, undefined, record.bases, draft, (listed) =>
    record.set(value, listed, revision),
  );
}

function snapshotOf<V extends Stored>({
  value,
  revision,
  listed,
}: RecordOf<V> & { readonly listed: Listed }): RecordSnapshot<V> {
  const { incarnation, writes: version } = value;
  return { incarnation, version, order: listed.order, listed, told: true, revision, value };
}
