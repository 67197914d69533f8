import { Random } from "@scrollback/conformance/internal";
import type { CommitOutcome, DeleteOutcome, ReadRequest, ThreadView } from "@scrollback/store-core/driver";
import { RecordLogDriver } from "../index.ts";
import { SimulatedBackend } from "./backend.ts";
import { Caller } from "./caller.ts";
import { createCheckedThread } from "./checked-thread.ts";
import { SimulatedClient } from "./client.ts";
import { CostTable } from "./costs.ts";
import { DirectedNetwork, type Fate } from "./directed-network.ts";
import { SimulationFailure } from "./failure.ts";
import { Counters } from "./faults.ts";
import { createText, keyOf, type Operation, type Text } from "./operation.ts";
import { Scheduler } from "./scheduler.ts";
import type { Deletion, StoredRow } from "./simulated-call.ts";
import { START } from "./simulation.ts";
import type { SimulatedThread } from "./thread.ts";
import type { ThreadModel } from "./thread-model.ts";

const THREAD = "thread";
const CLIENTS = 3;
/** Letters in the record of a text that does not fit a row of the smallest size. */
const LARGE = 70_000;

/** The change of a commit of a directed run, and the settings of its store. */
export interface DirectedChange {
  /** A message for each letter of a kind: s, u, o or t. */
  readonly append?: string;
  /** Whether the messages are too large for a row. */
  readonly isLarge?: boolean;
  readonly drop?: number | "all";
  readonly setsMetadata?: boolean;
  readonly settings?: Partial<Operation["settings"]>;
}

/**
 * A simulated run that follows a script: three clients, one thread, and only the faults of the script. As in any run, the model
 * checks each row, each reply and the stored rows.
 */
export class DirectedRun {
  readonly clients: readonly [SimulatedClient, SimulatedClient, SimulatedClient];
  readonly scheduler: Scheduler;
  readonly model: ThreadModel;
  readonly #network: DirectedNetwork;
  readonly #thread: SimulatedThread;
  readonly #counters = new Counters();
  readonly #costs = new CostTable();
  readonly #operations = new Map<string, Operation>();
  readonly #texts = new Map<string, Text>();
  #deletions = 0;

  constructor({ isTraced = false }: { readonly isTraced?: boolean } = {}) {
    this.scheduler = new Scheduler(START, isTraced);
    const random = new Random("directed");
    this.#network = new DirectedNetwork(this.scheduler, random, this.#counters, {
      ...{ faultFactor: 0, delayFactor: 0, daysUnderWay: 0, without: new Set() },
    });
    const backend = new SimulatedBackend(this.scheduler, this.#network, random, this.#counters, {
      ...{ maxRowBytes: 64 * 1024, returnsWinner: true, omitsTexts: false, skew: 0 },
    });
    const client = (index: number) =>
      new SimulatedClient(
        index,
        this.scheduler,
        0,
        random,
        (own) => new RecordLogDriver(backend.logFor(own), { clock: own.clock }),
      );
    this.clients = [client(1), client(2), client(CLIENTS)];
    this.#thread = createCheckedThread({
      ...{ threadId: THREAD, operations: this.#operations, texts: this.#texts },
      ...{ scheduler: this.scheduler, counters: this.#counters, clients: this.clients, backend },
      onHead: () => undefined,
    });
    const { model } = this.#thread;
    if (!model) throw new RangeError("a checked thread has a model");
    this.model = model;
  }

  /** Runs a script. Then, without faults, all clients must read the thread and add to it. @throws SimulationFailure */
  async run(script: (run: DirectedRun) => Promise<void>): Promise<void> {
    let isDone = false;
    const follow = async () => {
      await script(this);
      for (const client of this.clients) {
        await this.read(client);
        await this.commit(client, { append: "u" });
        await this.read(client);
      }
      if (this.model.livingState) this.#thread.rest?.checkStored(this.model.livingState);
      isDone = true;
    };
    this.scheduler.at(START, () => {
      follow().catch((error) => this.scheduler.fail(error));
      this.scheduler.settled();
    });
    await this.scheduler.run();
    if (!isDone) throw new SimulationFailure("hangs", "the script never ended");
  }

  /** An operation, to be committed once or several times. */
  operation({ append = "", isLarge, drop = 0, setsMetadata, settings }: DirectedChange): Operation {
    const id = `o${this.#operations.size + 1}`;
    const text = (name: string, kind: Text["kind"]) => {
      const created = createText(`${id}:${name}`, kind, isLarge ? LARGE : 0);
      this.#texts.set(created.name, created);
      return created;
    };
    const operation: Operation = {
      ...{ id, digest: `digest of ${id}`, threadId: THREAD, drop },
      append: [...append].map((kind, index) => text(String(index), kind as Text["kind"])),
      metadata: setsMetadata ? text("m", "m") : undefined,
      settings: { maxMessages: undefined, trimming: "turns", ttlMs: undefined, ...settings },
      ...{
        expectedRevision: undefined,
        newIncarnation: `incarnation of ${id}`,
        hasOwnId: true,
        isSent: false,
        commits: [],
      },
    };
    this.#operations.set(keyOf(operation), operation);
    return operation;
  }

  /** Commits, and returns the outcome. Never settles if the client crashes. */
  commit(
    client: SimulatedClient,
    change: DirectedChange,
  ): Promise<CommitOutcome | "unavailable" | "unknown"> {
    return this.commitOperation(client, this.operation(change));
  }

  commitOperation(client: SimulatedClient, operation: Operation, caller = `caller of ${operation.id}`) {
    return inBackground(this.#caller(client).commit(this.#thread, operation, caller));
  }

  /** Commits the same change several times, one after another. */
  async commitEach(client: SimulatedClient, count: number, change: DirectedChange): Promise<void> {
    for (let done = 0; done < count; done++) await this.commit(client, change);
  }

  /** A deletion, to be sent once or several times. */
  deletion(): Deletion {
    this.#deletions += 1;
    const id = `d${this.#deletions}`;
    return { id, threadId: THREAD, expectedRevision: undefined, began: undefined, made: undefined };
  }

  /** Deletes the thread, and returns the outcome. */
  delete(client: SimulatedClient, deletion = this.deletion()): Promise<DeleteOutcome | "unavailable"> {
    return inBackground(this.#caller(client).delete(this.#thread, deletion));
  }

  read(client: SimulatedClient, request: Partial<ReadRequest> = {}): Promise<ThreadView | undefined> {
    const { limit = Number.POSITIVE_INFINITY, before, after, metadata = true } = request;
    return this.#caller(client).read(this.#thread, { limit, before, after, metadata });
  }

  /** Decides on the next request of a client whose words match. Resolves when it has been sent. */
  direct(client: SimulatedClient, request: RegExp, fate: Fate): Promise<void> {
    return this.#network.direct(client, request, fate);
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.scheduler.at(this.scheduler.now + ms, () => {
        resolve();
        this.scheduler.settled();
      });
    });
  }

  /** The backend deletes rows that have expired: all, or some. */
  deleteExpired(isDeleted: (row: StoredRow) => boolean = () => true): void {
    for (const stored of [...this.model.rows.all()]) {
      const { expiresAt } = stored.row;
      if (expiresAt === undefined || expiresAt > this.scheduler.now || !isDeleted(stored)) continue;
      this.scheduler.step("sweep", 0, stored.number);
      this.model.onDelete(stored);
      this.model.rows.delete(stored.number);
    }
  }

  #caller(client: SimulatedClient): Caller {
    const stage = { scheduler: this.scheduler, counters: this.#counters, costs: this.#costs };
    return new Caller({ ...stage, abortsAfter: () => undefined }, client);
  }
}

/** A call whose script may await it later, or never if its client crashes: a failure in between must not end the process. */
function inBackground<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}
