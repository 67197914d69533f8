import { isDeepStrictEqual } from "node:util";
import type { ChatMessage, MessageStore, Revision, StoreFactory } from "@scrollback/store-core";
import { createStores, MemoryDriver, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { trimmed } from "../../../../conformance-tests/src/trimming-oracle.ts";
import type { SimulatedClient } from "../../src/simulator/client.ts";
import { SimulationFailure } from "../../src/simulator/failure.ts";
import { runScenario } from "../../src/simulator/index.ts";
import type { Interval, Scenario, World } from "../../src/simulator/scenario.ts";
import type { SimulationOptions, SimulationResult } from "../../src/simulator/simulation.ts";
import { remoteDriver } from "./remote-driver.ts";

const THREAD = "thread";

/** Runs one simulation of portable stores: several processes on one memory driver behind a faulty network. */
export function run(options: SimulationOptions): Promise<SimulationResult> {
  let scenario: StoreScenario | undefined;
  const memory = new MemoryDriver({ clock: { wall: () => scenario?.wall() ?? 0 } });
  return runScenario(
    {
      name: "portable store",
      acts: 250,
      create: (world) => {
        scenario = new StoreScenario(world, memory);
        return scenario;
      },
      createDriver: (world, client) =>
        remoteDriver(world, client, memory, ({ operationId }, { outcome, revision }) => {
          if (outcome === "committed" && revision !== null) scenario?.committed(operationId, revision);
        }),
    },
    options,
  );
}

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
}

/** Checks that each commit takes place once, as a whole, and that each read returns the thread at one moment of the read. */
class StoreScenario implements Scenario {
  readonly #world: World;
  readonly #memory: MemoryDriver;
  readonly #settings: { maxMessages?: number; trimming?: "exact" | "turns"; ttlMs?: number };
  readonly #operations = new Map<string, Operation>();
  readonly #orphans: Operation[] = [];
  readonly #clients = new Map<SimulatedClient, StoreFactory>();
  readonly #revisions = new Set<Revision>();
  #history: State[] = [
    { at: 0, revision: null, messages: [], metadata: undefined, expiresAt: Number.POSITIVE_INFINITY },
  ];
  #count = 0;

  constructor(world: World, memory: MemoryDriver) {
    const { random } = world;
    this.#world = world;
    this.#memory = memory;
    const maxMessages = random.pick(undefined, 1, 3, 8);
    const ttlMs = random.pick(undefined, undefined, 60_000, 3_600_000);
    this.#settings = {
      ...(maxMessages !== undefined && { maxMessages, trimming: random.pick("exact", "turns") }),
      ...(ttlMs !== undefined && { ttlMs }),
    };
  }

  /** The time of the backend. */
  wall(): number {
    return Math.floor(this.#world.scheduler.now + this.#world.skew);
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
    }
  }

  /** Called with the effect of each commit. */
  committed(id: string, revision: Revision): void {
    const operation = this.#operations.get(id) as Operation;
    const before = this.#now();
    const last = operation.commits.at(-1);
    // An expired thread forgets its operations.
    const hasExpired =
      last && this.#history.some(({ at, expiresAt }) => at >= last.at && expiresAt <= this.wall());
    // If the thread continues, only the newest 64 operations must be remembered.
    const since = last ? this.#history.filter(({ at }) => at > last.at).length : 0;
    if (last && !hasExpired && since < REMEMBERED_OPERATIONS)
      this.#fail("C4", `${id} was committed as ${last.revision} and as ${revision}`);
    if (this.#revisions.has(revision)) this.#fail("C5", `${revision} was reused`);
    this.#revisions.add(revision);
    const { expectedRevision, change } = operation;
    if (expectedRevision !== undefined && expectedRevision !== before.revision)
      this.#fail("C5", `${id} expected ${expectedRevision}, not ${before.revision}`);
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
      expiresAt: ttlMs === undefined ? Number.POSITIVE_INFINITY : this.wall() + ttlMs,
    });
    operation.commits.push({ revision, at });
  }

  async #act(client: SimulatedClient, stores: StoreFactory): Promise<void> {
    const { random } = this.#world;
    const store = stores.open(THREAD);
    const kind = random.next();
    if (kind < 0.3) await this.#read(client, store);
    else if (kind < 0.35) await this.#restore(client, stores);
    else {
      const orphan = kind < 0.45 ? this.#orphans.pop() : undefined;
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
      expectedRevision: random.chance(0.3) ? this.#now().revision : undefined,
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
          this.#fail("C4", `${id} was acknowledged as ${ended.value}, and was not committed`);
        return;
      }
      this.#world.allow(ended.error, "UNAVAILABLE", "ABORTED", "CONFLICT");
      if (ended.error.code === "CONFLICT") {
        const isRight = this.#during(when).every(({ revision }) => revision === expectedRevision);
        if (expectedRevision === undefined || isRight)
          this.#fail("C5", `${id} was refused at the revision that it expects`);
        return;
      }
      await this.#world.sleep(client, random.next() * 3_000);
    }
    this.#orphans.push(operation);
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
    if (!state) return this.#fail("C3", `a read returned ${revision}, which was not current`);
    const expected = state.messages.slice(Math.max(0, state.messages.length - limit));
    if (
      !isDeepStrictEqual(
        entries.map(({ message }) => message),
        expected,
      )
    )
      this.#fail("C7", `a read of ${revision} returned other messages`);
    if (metadata !== state.metadata) this.#fail("C18", `a read of ${revision} returned ${String(metadata)}`);
  }

  /** A serialised state must restore completely in another process, and change nothing if the thread exists. */
  async #restore(client: SimulatedClient, stores: StoreFactory): Promise<void> {
    const state = this.#now();
    const when = this.#world.interval();
    const ended = await this.#world.call(
      client,
      when,
      () => "restore",
      async () => {
        const saved = JSON.parse(JSON.stringify(await stores.open(THREAD).serialize()));
        const elsewhere = createStores(
          new MemoryDriver({ clock: { wall: () => this.wall() } }),
          {},
          { clock: client.clock },
        );
        const { entries, metadata } = await elsewhere.restore(saved).read();
        if (this.#memory.exportThread(THREAD)) stores.restore(saved);
        return { messages: entries.map(({ message }) => message), metadata };
      },
    );
    if (ended.error) return this.#world.allow(ended.error);
    const { messages, metadata } = ended.value;
    if (!isDeepStrictEqual({ messages, metadata }, { messages: state.messages, metadata: state.metadata }))
      this.#fail("C10", `a state of ${state.revision} restored as something else`);
  }

  /** The current thread. */
  #now(): State {
    const state = this.#history.at(-1) as State;
    return state.expiresAt <= this.wall() ? { ...(this.#history[0] as State), at: state.at } : state;
  }

  /** The states of the thread during a call. */
  #during({ start }: Interval): State[] {
    const first = this.#history.findLastIndex(({ at }) => at <= start);
    const states = this.#history.slice(first);
    const hasExpired = states.some(({ expiresAt }) => expiresAt <= this.wall());
    return hasExpired ? [...states, this.#history[0] as State] : states;
  }

  #fail(rule: string, message: string): never {
    const failure = new SimulationFailure(rule, message);
    this.#world.scheduler.fail(failure);
    throw failure;
  }
}
