import { hash } from "node:crypto";
import { type ChatMessage, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { randomText } from "@scrollback/store-core/internal";
import { Blobs, newUse } from "../../src/lists/blobs.ts";
import type { BlobUse } from "../../src/lists/contents.ts";
import { type Network, withoutChance } from "../lists/network.ts";
import { Processes, type ScopeOf } from "../lists/processes.ts";
import { Random } from "../lists/random.ts";

/** A process of the simulation: threads whose messages use contents. */
class Threads {
  readonly stores: StoreFactory;
  readonly blobs: Blobs;

  constructor(stores: StoreFactory, now: () => number) {
    this.stores = stores;
    this.blobs = new Blobs(stores, { now });
  }

  async #read(threadId: string) {
    const { entries, metadata, revision } = await this.stores.open(threadId).read();
    const { writes = 0, incarnation } = Object(metadata) as { writes?: number; incarnation?: string };
    const messages = entries.map(({ message }) => message);
    return { messages, state: { revision, writes, incarnation }, uses: messages.map(useOf) };
  }

  async #commit(threadId: string, { revision, writes, incarnation = randomText(9) }: State, change: object) {
    const next = { writes: writes + 1, incarnation };
    await this.stores.open(threadId).commit({ ...change, metadata: next }, { expectedRevision: revision });
    return next;
  }

  async #untilDone<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT")) throw error;
      }
    }
  }

  /** Adds a message with a content. */
  async add(threadId: string, content: string): Promise<void> {
    const digest = hash("sha256", content);
    let use = newUse({ scope: "ada", digest });
    let before: State | undefined;
    const after = await this.#untilDone(async () => {
      const { state } = await this.#read(threadId);
      const [again] = before ? await this.blobs.announce(threadId, state, [use], { before }) : [];
      before = state;
      if (!again) {
        use = newUse(use);
        await this.blobs.use(threadId, state, use, async () => Buffer.from(content));
      }
      const message: ChatMessage = { role: "user", content, metadata: use };
      return await this.#commit(threadId, state, { append: [message] });
    });
    await this.blobs.settle(threadId, after, [use]);
  }

  /** Begins to add a message with a content: the store refuses the message. */
  async refuse(threadId: string, content: string): Promise<void> {
    const use = newUse({ scope: "ada", digest: hash("sha256", content) });
    const { state } = await this.#read(threadId);
    await this.blobs.use(threadId, state, use, async () => Buffer.from(content)).catch(ifTaken);
    await this.sweep(threadId, state.incarnation, [use.id]);
  }

  /** Drops the newest message. */
  async drop(threadId: string): Promise<void> {
    const dropped = await this.#untilDone(async () => {
      const { state, uses } = await this.#read(threadId);
      const last = uses.slice(-1);
      if (last.length === 0) return [];
      await this.blobs.announce(threadId, state, last);
      await this.#commit(threadId, state, { drop: 1 });
      return last;
    });
    await this.blobs.release(threadId, dropped);
  }

  async remove(threadId: string): Promise<void> {
    await this.stores.deleteThread(threadId);
    await this.sweep(threadId);
  }

  /** Deletes a thread to which nobody adds. Nothing of it may be left then. */
  async removeAll(threadId: string): Promise<void> {
    await this.stores.deleteThread(threadId);
    await this.blobs.releaseAll(threadId, undefined);
    const { entries } = await this.stores.index(`files:${threadId}`).list();
    if (entries.length > 0) throw new Error(`left by a deletion: ${entries.map(({ key }) => key)}`);
  }

  /** What a process that reads the thread does. */
  async sweepNow(threadId: string): Promise<void> {
    await this.sweep(threadId, (await this.#read(threadId)).state.incarnation);
  }

  async sweep(threadId: string, incarnation?: string, refused: readonly string[] = []): Promise<void> {
    await this.blobs.sweep(
      threadId,
      async () => {
        const { state, uses } = await this.#read(threadId);
        return { ...state, uses: new Set(uses.map(({ id }) => id)) };
      },
      { incarnation, refused: new Set(refused) },
    );
  }

  /** What the messages of a thread use. */
  async uses(threadId: string): Promise<readonly BlobUse[]> {
    return (await this.#read(threadId)).uses;
  }

  /** The contents of the messages of a thread that are not there. */
  async missing(threadId: string): Promise<string[]> {
    const { messages, uses } = await this.#read(threadId);
    const contents = await Promise.all(uses.map((use) => this.blobs.read(use)));
    return messages
      .map(({ content }) => String(content))
      .filter((content, index) => Buffer.from(contents[index]?.content ?? []).toString() !== content);
  }
}

function ifTaken(error: unknown): void {
  if (!StoreError.is(error, "CONFLICT")) throw error;
}

interface State {
  readonly revision: Revision | null;
  readonly writes: number;
  readonly incarnation: string | undefined;
}

function useOf({ metadata }: ChatMessage): BlobUse {
  return metadata as BlobUse;
}

const THREADS = ["a", "b"];

/** The ids of all uses in indexes. */
async function entriesLeft(stores: StoreFactory): Promise<string[]> {
  const contents = (await stores.index("contents:ada").list()).entries;
  const announced = await Promise.all(
    THREADS.map(async (id) => (await stores.index(`files:${id}`).list()).entries),
  );
  const isUse = ({ id, value }: { id: string; value: unknown }) => id !== "place" && value === null;
  return [...contents.filter(isUse).map(({ id }) => id), ...announced.flat().map(({ key }) => key)];
}

export interface Call {
  readonly name: string;
  run(threads: Threads): Promise<unknown>;
}

export type Scope = ScopeOf<Call>;

/** Runs a scope `count` times, each time in an order that a seed decides. @returns what is wrong. */
export async function sample(scope: Scope, count: number, first = 1): Promise<string | undefined> {
  let run = new Execution(scope);
  return await withoutChance(
    () => run.newId(),
    async () => {
      for (let seed = first; seed < first + count; seed++) {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        run = new Execution(scope);
        const problem = await run.run(seed);
        if (problem !== undefined) return `seed ${seed}: ${problem}\n${run.network.trace.join("\n")}`;
      }
      return undefined;
    },
  );
}

class Execution {
  readonly #processes: Processes<Call>;
  #failed = "";
  #sweepsFirst = false;

  constructor(scope: Scope) {
    this.#processes = new Processes(scope, (process, call) => this.#begin(process, call));
  }

  get network(): Network {
    return this.#processes.network;
  }

  newId(): string {
    return this.#processes.newId();
  }

  /** @returns what is wrong. */
  async run(seed: number): Promise<string | undefined> {
    await this.#processes.begin();
    const random = new Random(seed);
    this.#sweepsFirst = seed % 2 === 0;
    while (this.network.requests.length > 0) await this.#processes.step(random);
    return this.#failed || (await this.#conclude());
  }

  async #begin(process: number, call: Call): Promise<void> {
    const threads = new Threads(createStores(this.network.driverOf(process)), () => this.network.now);
    await this.network.run(process, () => {
      call.run(threads).catch((error) => {
        this.#failed = `${call.name}: ${error?.stack}`;
      });
    });
  }

  async #conclude(): Promise<string | undefined> {
    const stores = createStores(this.network.base);
    const threads = new Threads(stores, () => this.network.now);
    const missing = async () => (await Promise.all(THREADS.map((id) => threads.missing(id)))).flat();
    const sweep = async () => {
      for (const id of THREADS) {
        const { revision } = await stores.open(id).read({ limit: 0 });
        if (revision === null) await threads.remove(id);
        else {
          // From then on no commit of a dead process can be made.
          await threads.add(id, "last");
          await threads.drop(id);
          await threads.sweepNow(id);
        }
      }
    };
    // The late requests meet what a sweep has left, or a sweep what they have left.
    if (this.#sweepsFirst) await sweep();
    for (const request of [...this.network.late]) await this.network.arrive(request);
    const before = await missing();
    if (before.length > 0) return `lost: ${before}`;
    this.network.now += 2 * 3_600_000;
    await sweep();
    const after = await missing();
    if (after.length > 0) return `lost by a sweep: ${after}`;
    const used = new Set<string>();
    for (const id of THREADS)
      for (const { message } of (await stores.open(id).read()).entries) used.add(String(message.content));
    const there: string[] = [];
    for await (const { threadId, count } of stores.iterateThreads({ prefix: "scrollback:content:" }))
      if (count > 0) {
        const [entry] = (await stores.open(threadId).read()).entries;
        there.push(Buffer.from(entry?.message.metadata as Uint8Array).toString());
      }
    if (there.toSorted().join() !== [...used].toSorted().join())
      return `stored: ${there}; used: ${[...used]}`;
    const uses = (await Promise.all(THREADS.map((id) => threads.uses(id)))).flat().map(({ id }) => id);
    const left = (await entriesLeft(stores)).filter((id) => !uses.includes(id));
    if (left.length > 0) return `left in indexes: ${left}`;
    // What the indexes say must be right for who comes next.
    for (const content of ["photo", "other"]) await threads.add("b", content);
    const again = await missing();
    return again.length > 0 ? `lost afterwards: ${again}` : undefined;
  }
}
