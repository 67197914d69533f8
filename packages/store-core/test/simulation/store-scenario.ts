import { isDeepStrictEqual } from "node:util";
import { trimmed } from "../../../../conformance-tests/src/trimming-oracle.ts";
import type { Interval, Scenario, SimulatedClient, World } from "../../../simulator/src/index.ts";
import { createStores, MemoryDriver, REMEMBERED_MS, REMEMBERED_OPERATIONS } from "../../src/driver.ts";
import type { ChatMessage, MessageStore, Revision, StoreError, StoreFactory } from "../../src/index.ts";
import { parseRevision } from "../../src/internal.ts";

const THREAD = "thread";

interface Change {
  readonly drop: number | "all";
  readonly append: readonly ChatMessage[];
  readonly metadata: unknown;
}

/** A change that a caller attempts, with one operation id. */
interface Operation {
  readonly id: string;
  readonly change: Change;
  readonly expectedRevision: Revision | null | undefined;
  readonly commits: { readonly revision: Revision; readonly at: number }[];
}

/** The thread from one moment to the next commit. */
interface State {
  readonly at: number;
  readonly revision: Revision | null;
  readonly messages: readonly ChatMessage[];
  readonly metadata: unknown;
  readonly expiresAt: number;
  /** The time of the deletion that made it, by the backend's clock. */
  readonly deletedAt?: number;
}

const NO_STATE: State = {
  at: 0,
  revision: null,
  messages: [],
  metadata: undefined,
  expiresAt: Number.POSITIVE_INFINITY,
};

/** Checks that each commit takes place once, as a whole, and that each read returns the thread at one moment of the read. */
export class StoreScenario implements Scenario {
  readonly #world: World;
  readonly #settings: { maxMessages?: number; trimming?: "exact" | "turns"; ttlMs?: number };
  readonly #operations = new Map<string, Operation>();
  /** By operation id: when they last had an effect, by the backend's clock. */
  readonly #deletions = new Map<string, number>();
  readonly #orphans: Operation[] = [];
  readonly #clients = new Map<SimulatedClient, StoreFactory>();
  readonly #revisions = new Set<Revision>();
  readonly #history: State[] = [NO_STATE];
  #count = 0;

  constructor(world: World) {
    const { random } = world;
    this.#world = world;
    const maxMessages = random.pick(undefined, 1, 3, 8);
    const ttlMs = random.pick(undefined, undefined, 60_000, 3_600_000);
    this.#settings = {
      ...(maxMessages !== undefined && { maxMessages, trimming: random.pick("exact", "turns") }),
      ...(ttlMs !== undefined && { ttlMs }),
    };
  }

  begin(client: SimulatedClient): () => Promise<void> {
    const stores = createStores(client.driver, this.#settings, { clock: client.clock });
    this.#clients.set(client, stores);
    return () => this.#act(client, stores);
  }

  async checkCalm(): Promise<void> {
    for (const [client, stores] of this.#clients) {
      await this.#read(client, stores.open(THREAD));
      await this.#finish(client, stores.open(THREAD), this.#draw());
      await this.#read(client, stores.open(THREAD));
      await this.#restore(client, stores);
      await this.#delete(client, stores);
    }
  }

  /** A commit takes effect at the backend. */
  committed(id: string, revision: Revision): void {
    const operation = this.#operations.get(id) as Operation;
    const newest = this.#newest();
    const incarnation = (one: Revision | null) => one !== null && parseRevision(one).incarnation;
    const isContinued = incarnation(newest.revision) === incarnation(revision);
    if (isContinued ? this.#hasExpired(newest) : newest.revision !== null && !this.#hasExpired(newest))
      this.#world.fail("C11", `${id} made ${revision} of ${newest.revision}, until ${newest.expiresAt}`);
    const before = isContinued ? newest : NO_STATE;
    const last = operation.commits.at(-1);
    // An expired thread forgets its operations, a deleted one after ten seconds.
    const isForgotten =
      last && this.#history.some((state) => state.at >= last.at && this.#mayForgetOperations(state));
    // If the thread continues, only the newest 64 operations must be remembered.
    const since = last ? this.#history.filter(({ at }) => at > last.at).length : 0;
    if (last && !isForgotten && since < REMEMBERED_OPERATIONS)
      this.#world.fail("C4", `${id} was committed as ${last.revision} and as ${revision}`);
    if (this.#revisions.has(revision)) this.#world.fail("C5", `${revision} was reused`);
    this.#revisions.add(revision);
    const { expectedRevision, change } = operation;
    if (expectedRevision !== undefined && expectedRevision !== before.revision)
      this.#world.fail("C5", `${id} expected ${expectedRevision}, not ${before.revision}`);
    const { maxMessages = Number.POSITIVE_INFINITY, trimming = "turns", ttlMs } = this.#settings;
    const kept =
      change.drop === "all"
        ? []
        : before.messages.slice(0, Math.max(0, before.messages.length - change.drop));
    const { metadata = before.metadata } = change;
    const at = this.#world.moment();
    this.#history.push({
      at,
      revision,
      messages: trimmed([...kept, ...change.append], maxMessages, trimming),
      metadata: metadata === null ? undefined : metadata,
      expiresAt: ttlMs === undefined ? Number.POSITIVE_INFINITY : this.#world.backendWall() + ttlMs,
    });
    operation.commits.push({ revision, at });
  }

  deleted(id: string): void {
    const now = this.#world.backendWall();
    const before = this.#deletions.get(id) ?? Number.NEGATIVE_INFINITY;
    if (now - before < REMEMBERED_MS) this.#world.fail("C21", `${id} deleted the thread twice`);
    this.#deletions.set(id, now);
    this.#history.push({ ...NO_STATE, at: this.#world.moment(), deletedAt: now });
  }

  async #act(client: SimulatedClient, stores: StoreFactory): Promise<void> {
    const { random } = this.#world;
    const store = stores.open(THREAD);
    const kind = random.next();
    if (kind < 0.3) await this.#read(client, store);
    else if (kind < 0.35) await this.#restore(client, stores);
    else if (kind < 0.4) await this.#delete(client, stores);
    else {
      const orphan = kind < 0.5 ? this.#orphans.pop() : undefined;
      await this.#finish(client, store, orphan ?? this.#draw());
    }
  }

  #draw(): Operation {
    const { random } = this.#world;
    this.#count += 1;
    const id = `operation-${this.#count}`;
    const message = (_: unknown, index: number): ChatMessage => ({
      role: random.pick("user", "user", "assistant", "system"),
      content: `${id}:${index}`,
    });
    const operation: Operation = {
      id,
      change: {
        drop: random.pick<number | "all">(0, 0, 0, 0, 1, 2, "all"),
        append: Array.from({ length: 1 + random.below(3) }, message),
        metadata: random.pick(undefined, undefined, null, `metadata of ${id}`),
      },
      expectedRevision: random.chance(0.3) ? this.#newest().revision : undefined,
      commits: [],
    };
    this.#operations.set(id, operation);
    return operation;
  }

  async #finish(client: SimulatedClient, store: MessageStore, operation: Operation): Promise<void> {
    const { random } = this.#world;
    const { id, change, expectedRevision } = operation;
    for (let tries = 0; tries < 3; tries++) {
      const when = this.#world.interval();
      const abort = new AbortController();
      if (this.#world.network.isFaulty && random.chance(0.1))
        client.clock.timer(random.next() * 3_000, () => abort.abort());
      const options = {
        operationId: id,
        ...(expectedRevision !== undefined && { expectedRevision }),
        signal: abort.signal,
      };
      const { metadata, ...rest } = change;
      const ended = await this.#world.call(
        client,
        when,
        () => `commit ${id}`,
        () => store.commit({ ...rest, ...(metadata !== undefined && { metadata }) }, options),
      );
      if (!ended.error) {
        if (!operation.commits.some(({ revision }) => revision === ended.value))
          this.#world.fail("C4", `${id} was acknowledged as ${ended.value}, and was not committed`);
        return;
      }
      this.#allow(ended.error, id, expectedRevision, when);
      if (ended.error.code === "CONFLICT") return;
      await this.#world.sleep(client, random.next() * 3_000);
    }
    this.#orphans.push(operation);
  }

  async #delete(client: SimulatedClient, stores: StoreFactory): Promise<void> {
    const { random } = this.#world;
    const expectedRevision = random.chance(0.3) ? this.#newest().revision : undefined;
    const options = expectedRevision === undefined ? {} : { expectedRevision };
    const when = this.#world.interval();
    const ended = await this.#world.call(
      client,
      when,
      () => "delete",
      () => stores.deleteThread(THREAD, options),
    );
    if (ended.error) return this.#allow(ended.error, "a deletion", expectedRevision, when);
    if (!this.#during(when).some(({ revision }) => revision === null))
      this.#world.fail("C21", "a deletion was acknowledged, and the thread existed all the time");
  }

  /** A write may fail with `CONFLICT` only if the thread had another revision than it expects. */
  #allow(error: StoreError, what: string, expected: Revision | null | undefined, when: Interval): void {
    this.#world.allow(error, "UNAVAILABLE", "ABORTED", "CONFLICT");
    if (error.code !== "CONFLICT") return;
    if (expected === undefined || this.#during(when).every(({ revision }) => revision === expected))
      this.#world.fail("C5", `${what} was refused at the revision that it expects`);
  }

  async #read(client: SimulatedClient, store: MessageStore): Promise<void> {
    const { random } = this.#world;
    const limit = random.pick(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1, 2, 5);
    const when = this.#world.interval();
    const ended = await this.#world.call(
      client,
      when,
      () => `read ${limit}`,
      () => store.read(limit === Number.POSITIVE_INFINITY ? {} : { limit }),
    );
    if (ended.error) return this.#world.allow(ended.error, "UNAVAILABLE");
    const { revision, entries, metadata } = ended.value;
    const state = this.#during(when).find((one) => one.revision === revision);
    if (!state) return this.#world.fail("C3", `a read returned ${revision}, which was not current`);
    const expected = state.messages.slice(Math.max(0, state.messages.length - limit));
    const messages = entries.map(({ message }) => message);
    if (!isDeepStrictEqual(messages, expected))
      this.#world.fail("C7", `a read of ${revision} returned other messages`);
    if (metadata !== state.metadata)
      this.#world.fail("C18", `a read of ${revision} returned ${String(metadata)}`);
  }

  /** A serialised state that has the thread's content must restore it in another process, and change nothing in its own. */
  async #restore(client: SimulatedClient, stores: StoreFactory): Promise<void> {
    if (!client.driver.exportThread) return;
    const state = this.#newest();
    const expected = this.#hasExpired(state) ? NO_STATE : state;
    const ended = await this.#world.call(
      client,
      this.#world.interval(),
      () => "restore",
      async () => {
        const saved = JSON.parse(JSON.stringify(await stores.open(THREAD).serialize()));
        const clock = { wall: () => this.#world.backendWall() };
        const elsewhere = createStores(new MemoryDriver({ clock }), {}, { clock: client.clock });
        const { entries, metadata } = await elsewhere.restore(saved).read();
        if (client.driver.exportThread?.(THREAD)) stores.restore(saved);
        return { messages: entries.map(({ message }) => message), metadata };
      },
    );
    if (ended.error) return this.#world.allow(ended.error);
    const { messages, metadata } = expected;
    if (!isDeepStrictEqual(ended.value, { messages, metadata }))
      this.#world.fail("C10", `a state of ${state.revision} restored as something else`);
  }

  #newest(): State {
    return this.#history.at(-1) ?? NO_STATE;
  }

  #mayForgetOperations(state: State): boolean {
    const { deletedAt = Number.POSITIVE_INFINITY } = state;
    return this.#hasExpired(state) || this.#world.backendWall() - deletedAt >= REMEMBERED_MS;
  }

  #hasExpired({ expiresAt }: State): boolean {
    return expiresAt <= this.#world.backendWall();
  }

  /** The states of the thread during a call. */
  #during({ start }: Interval): State[] {
    const first = this.#history.findLastIndex(({ at }) => at <= start);
    const states = this.#history.slice(first);
    return states.some((state) => this.#hasExpired(state)) ? [...states, NO_STATE] : states;
  }
}
