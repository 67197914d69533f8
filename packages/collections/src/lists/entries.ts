import { type IndexEntry, StoreError, type StoreFactory, type StoreIndex } from "@scrollback/store-core";
import { MAX_VALUE_BYTES } from "@scrollback/store-core/driver";
import { randomText } from "@scrollback/store-core/internal";
import {
  CLOSING,
  type EntryValue,
  entryValueOf,
  type InAndLeft,
  type Listed,
  type Member,
  OPEN,
  type Place,
  type Places,
  placesOf,
  SEALED,
  type Snapshot,
} from "./listed.ts";

/** The maximum size of a value that says what the thread's head says, encoded by the codec: a page has up to 100 of them. */
const MAX_TOLD_BYTES = 8 * 1_024;
export const DAY = 86_400_000;

/** What entries are written with. */
export interface EntryContext {
  readonly stores: StoreFactory;
  wall(): number;
}

/** The requests on a thread's entries. */
export class Entries<T> {
  readonly #context: EntryContext;
  readonly #ttlMs: number | undefined;

  constructor(context: EntryContext) {
    this.#context = context;
    this.#ttlMs = context.stores.settings.ttlMs;
  }

  /** @throws StoreError `TOO_LARGE` if the entries of a thread would not fit, even if they tell nothing. */
  assertFits(member: Member<T>, listed: Listed): void {
    const { stores } = this.#context;
    const expiresAt = this.#ttlMs === undefined ? undefined : this.#context.wall();
    const value = entryValue(member, { listed, isDoubtful: true, expiresAt });
    if (stores.metadataSize(value) <= MAX_VALUE_BYTES) return;
    throw new StoreError(
      "TOO_LARGE",
      "the ids, and the names of the lists, must take at most 32 KiB when encoded; use shorter ids",
    );
  }

  /** What does not fit is not told: lists read it in the head. */
  #told(member: Member<T>, snapshot: Snapshot<T>): EntryValue<T> {
    const { told, ...value } = entryValue(member, snapshot);
    if (told === undefined) return value;
    const whole = { ...value, told };
    return this.#context.stores.metadataSize(whole) <= MAX_TOLD_BYTES ? whole : value;
  }

  /**
   * Inserts an open entry with a new id in each index. It expires unless it is told: after `lifeMs`, by default a day or the shorter `ttlMs`;
   * `null`: never. Resolves to the places.
   */
  async open(
    member: Member<T>,
    indexes: readonly string[],
    listed: Listed,
    { lifeMs = Math.min(DAY, this.#ttlMs ?? DAY) }: { readonly lifeMs?: number | null } = {},
  ): Promise<Places> {
    const made = Object.fromEntries(indexes.map((index) => [index, randomText(9)]));
    const value = entryValue<T>(member, { listed: { ...listed, in: { ...listed.in, ...made } } });
    const expiry = lifeMs !== null && { expiresAt: this.#context.wall() + lifeMs };
    await Promise.all(
      Object.entries(made).map(([index, id]) =>
        this.#index(index).insert(
          { key: member.key, id },
          { version: OPEN, order: listed.order, value, ...expiry },
        ),
      ),
    );
    return made;
  }

  /**
   * Tells the entries of a thread what its head says. Resolves to the indexes whose entry is not there, or sealed, or was lost with a
   * part of the index, which `onError` gets.
   */
  async tell(member: Member<T>, snapshot: Snapshot<T>, onError: (error: unknown) => void): Promise<string[]> {
    const { version, order, listed, expiresAt } = snapshot;
    const value = this.#told(member, snapshot);
    const kept = expiresAt !== undefined && { expiresAt: expiresAt + DAY + (this.#ttlMs ?? 0) };
    const told = Object.entries(listed.in).map(async ([index, id]) => {
      const place = { key: member.key, id };
      const vectors = snapshot.vectors ?? (await this.#vectors(member, snapshot, index, id));
      const content = { version, order, value, ...kept, ...(vectors && { vectors }) };
      const found = await ifThere(this.#index(index).update(place, content), onError);
      return found === null || found === SEALED ? [index] : [];
    });
    return (await Promise.all(told)).flat();
  }

  /** An update tells the version of the entry too late: then it has replaced it. */
  async #vectors(member: Member<T>, snapshot: Snapshot<T>, index: string, id: string) {
    if (!member.vectors) return undefined;
    const entries = await ifThere(this.#index(index).entriesOf(member.key));
    const told = entries?.find((entry) => entry.id === id)?.version;
    return told !== undefined && told < snapshot.version ? await member.vectors(snapshot, told) : undefined;
  }

  /**
   * Marks entries of a thread that is about to be deleted, and removes their content.
   *
   * @param listed all places of the thread, for another deletion if this one dies.
   */
  async close(
    member: Member<T>,
    places: readonly Place[],
    order: number,
    listed: InAndLeft,
    signal?: AbortSignal,
  ): Promise<void> {
    const { key } = member;
    const value = entryValue<T>(member, { listed: { key, order, ...listed } });
    const call = signal ? { signal } : {};
    await Promise.all(
      places.map(([index, id]) =>
        this.#index(index).update({ key, id }, { version: CLOSING, order, value, vectors: [] }, call),
      ),
    );
  }

  /** Makes a creation that inserted an open entry start over with another one. */
  async seal(index: string, { key, id, order, value, expiresAt }: IndexEntry): Promise<void> {
    await this.#index(index).update({ key, id }, { version: SEALED, order, value, expiresAt });
  }

  /** Those in the bases last: they name the others, for another deletion if this one dies. */
  async remove(member: Member<T>, places: readonly Place[]): Promise<void> {
    for (const isBase of [false, true]) {
      const some = places.filter(([index]) => member.bases.includes(index) === isBase);
      await Promise.all(some.map(([index, id]) => this.#index(index).remove({ key: member.key, id })));
    }
  }

  /** Returns all entries of a thread in its {@link Member.bases}, and in those that these name. */
  async find(
    member: Member<T>,
    signal?: AbortSignal,
  ): Promise<readonly (readonly [index: string, IndexEntry])[]> {
    const inIndex = async (index: string) => {
      const entries = await this.#index(index).entriesOf(member.key, signal ? { signal } : {});
      return entries.map((entry) => [index, entry] as const);
    };
    const found = (await Promise.all(member.bases.map(inIndex))).flat();
    const named = found.flatMap(([, { value }]) => placesOf(listedOf(value)).map(([index]) => index));
    const others = [...new Set(named)].filter((index) => !member.bases.includes(index));
    return [...found, ...(await Promise.all(others.map(inIndex))).flat()];
  }

  #index(name: string) {
    return this.#context.stores.index(name);
  }
}

/** Iterates over the entries of an index, upwards. */
export async function* entriesIn(
  index: StoreIndex,
  call: { signal?: AbortSignal },
): AsyncGenerator<IndexEntry> {
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const page = await index.list({ ...call, ...(cursor !== undefined && { cursor }) });
    yield* page.entries;
    cursor = page.cursor;
  }
}

/** The result of a request for entries; `null` if a server reports that it has lost a part of the index. It then has no entry of it. */
export async function ifThere<R>(
  request: Promise<R>,
  report: (error: StoreError) => void = () => undefined,
): Promise<R | null> {
  try {
    return await request;
  } catch (error) {
    if (!StoreError.is(error, "CORRUPT")) throw error;
    report(error);
    return null;
  }
}

/** Where an entry says that its thread is listed. */
export function listedOf(value: unknown): InAndLeft {
  return entryValueOf(value)?.listed ?? { in: {} };
}

function entryValue<T>(
  { threadId }: Pick<Member<T>, "threadId">,
  { listed, told, isDoubtful, expiresAt: until }: Partial<Snapshot<T>> & { readonly listed: Listed },
): EntryValue<T> {
  return {
    threadId,
    listed,
    ...(told !== undefined && { told }),
    ...(isDoubtful && { isDoubtful }),
    ...(until !== undefined && { until }),
  };
}
