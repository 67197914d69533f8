import type { Random } from "@scrollback/conformance/internal";
import type { CommitOutcome } from "@scrollback/store-core/driver";
import { Caller, type CallerStage, Died } from "./caller.ts";
import type { SimulatedClient } from "./client.ts";
import { SimulationFailure } from "./failure.ts";
import { DAY, HOUR, MINUTE, SECOND } from "./network.ts";
import type { Operation } from "./operation.ts";
import type { Deletion } from "./simulated-call.ts";
import type { SimulatedThread } from "./thread.ts";
import type { Workload } from "./workload.ts";

const MOST_TRIES = 4;
const MOST_PAGES = 30;

/** The state that the actors of a run share. */
export interface Stage extends CallerStage {
  readonly random: Random;
  readonly workload: Workload;
  readonly threads: readonly SimulatedThread[];
  /** The share of retries that come after hours or days. */
  readonly lateRetries: number;
  /** The share of acts that delete the thread. */
  readonly deletions: number;
  /** The share of acts that make many commits at once. */
  readonly bursts: number;
  /** The time of an actor's next act; undefined if all acts of the run are done. */
  nextAct(): number | undefined;
  /** Called before each act. */
  beforeAct(client: SimulatedClient): void;
}

/** One caller of a client: makes calls one after another until the client crashes or all acts are done. */
export class Actor {
  readonly #stage: Stage;
  readonly #client: SimulatedClient;
  readonly #incarnation: number;
  readonly #caller: Caller;
  /** The operations that the actor is attempting: several only in a burst. */
  readonly #operations = new Set<Operation>();
  #isDeleting = false;

  constructor(stage: Stage, client: SimulatedClient) {
    this.#stage = stage;
    this.#client = client;
    this.#incarnation = client.incarnation;
    this.#caller = new Caller(stage, client);
  }

  /** Whether it has nothing to retry. */
  get isIdle(): boolean {
    return this.#operations.size === 0 && !this.#isDeleting;
  }

  start(time: number): void {
    if (this.#client.incarnation !== this.#incarnation) return;
    this.#client.schedule(time, () => {
      this.#act().then(
        () => {
          const next = this.#stage.nextAct();
          if (next !== undefined) this.start(next);
        },
        (error) => {
          if (!(error instanceof Died)) this.#stage.scheduler.fail(error);
        },
      );
    });
  }

  /** Leaves its unfinished work to other actors. Called when its client crashes. */
  die(): void {
    this.#stage.workload.orphans.push(...this.#operations);
    this.#operations.clear();
    this.#isDeleting = false;
  }

  /** Reads the whole thread, adds to it, and reads again. Runs at the end, without faults. */
  async lookCalmly(thread: SimulatedThread): Promise<void> {
    const { workload } = this.#stage;
    const whole = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined, metadata: true };
    const operation = workload.drawAppend(thread.ground);
    const isDone =
      (await this.#caller.read(thread, whole)) && (await this.#finish(operation, workload.callerName()));
    if (thread.model && (!isDone || !(await this.#caller.read(thread, whole))))
      throw new SimulationFailure("availability", "a call failed, although there was no fault");
  }

  async #act(): Promise<void> {
    const { random, workload, threads } = this.#stage;
    this.#stage.beforeAct(this.#client);
    const thread = threads[random.below(threads.length)] as SimulatedThread;
    const ground = thread.ground;
    const kind = random.next();
    if (kind < 0.22) return await this.#readPages(thread);
    if (kind < 0.25) return await this.#pop(thread);
    if (this.#stage.deletions > 0 && random.chance(this.#stage.deletions)) {
      return await this.#delete(thread, workload.drawDeletion(ground));
    }
    if (this.#stage.bursts > 0 && random.chance(this.#stage.bursts)) return await this.#burst(thread);
    const { orphans } = workload;
    if (orphans.length > 0 && random.chance(0.4)) {
      const orphan = orphans.splice(random.below(orphans.length), 1)[0] as Operation;
      await this.#finish(orphan, workload.callerName());
      return;
    }
    const known = random.chance(0.02) ? this.#anyOf(workload.operations) : undefined;
    const operation =
      known && known.threadId === ground.threadId && !known.hasOwnId
        ? workload.drawReuse(ground, known)
        : workload.draw(ground);
    await this.#finish(operation, workload.callerName());
  }

  /** Commits an operation, and retries while the connection fails, until its outcome is known. */
  async #finish(operation: Operation, caller: string): Promise<CommitOutcome | undefined> {
    const { random, counters, workload } = this.#stage;
    this.#operations.add(operation);
    for (let tries = 1; ; tries++) {
      const outcome = await this.#caller.commit(this.#threadOf(operation.threadId), operation, caller);
      if (outcome !== "unavailable" && outcome !== "unknown") {
        this.#operations.delete(operation);
        return outcome;
      }
      if (outcome === "unknown") counters.count("outcomes unknown");
      if (outcome === "unknown" && random.chance(0.8)) break;
      if (tries === MOST_TRIES) {
        workload.orphans.push(operation);
        break;
      }
      await this.#wait(this.#retryDelay());
    }
    this.#operations.delete(operation);
    return undefined;
  }

  /** Commits many operations at once, as a server does that serves several requests. */
  async #burst(thread: SimulatedThread): Promise<void> {
    const { random, workload } = this.#stage;
    const operations = workload.drawBurst(thread.ground, random.pick(4, 8, 50));
    await Promise.all(operations.map((operation) => this.#finish(operation, workload.callerName())));
  }

  /** Deletes a thread, and retries while the connection fails. */
  async #delete(thread: SimulatedThread, deletion: Deletion): Promise<void> {
    this.#isDeleting = true;
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      if ((await this.#caller.delete(thread, deletion)) !== "unavailable") break;
      await this.#wait(this.#retryDelay());
    }
    this.#isDeleting = false;
  }

  /** Reads once, or page after page back to the beginning. */
  async #readPages(thread: SimulatedThread): Promise<void> {
    const { random, workload } = this.#stage;
    const request = workload.drawRead(thread.ground.next);
    let view = await this.#caller.read(thread, request);
    if (request.after !== undefined || request.limit === 0 || random.chance(0.5)) return;
    for (let page = 1; page < MOST_PAGES && view && view.entries.length > 0; page++) {
      await this.#wait(this.#random.chance(0.9) ? this.#random.next() * SECOND : this.#random.next() * HOUR);
      view = await this.#caller.read(thread, {
        ...request,
        before: view.entries[0]?.sequence,
        metadata: false,
      });
    }
  }

  async #pop(thread: SimulatedThread): Promise<void> {
    const { workload } = this.#stage;
    const request = { limit: 1, before: undefined, after: undefined, metadata: false };
    const view = await this.#caller.read(thread, request);
    if (!view || view.count === 0) return;
    await this.#finish(workload.drawPop(thread.ground, view.revision), workload.callerName());
  }

  #threadOf(threadId: string): SimulatedThread {
    const thread = this.#stage.threads.find((one) => one.threadId === threadId);
    if (!thread) throw new SimulationFailure("isolation", `there is no thread ${threadId}`);
    return thread;
  }

  #anyOf(operations: ReadonlyMap<string, Operation>): Operation | undefined {
    let left = this.#random.below(Math.max(1, operations.size));
    for (const operation of operations.values()) if (left-- === 0) return operation;
    return undefined;
  }

  get #random(): Random {
    return this.#stage.random;
  }

  /** A store retries within seconds, a user at any time. */
  #retryDelay(): number {
    const kind = this.#random.next();
    const { lateRetries } = this.#stage;
    const upTo = kind < 0.9 - lateRetries ? 3 * SECOND : kind < 1 - lateRetries ? 10 * MINUTE : 3 * DAY;
    return this.#random.next() * upTo;
  }

  #wait(ms: number): Promise<void> {
    this.#caller.checkLife();
    const { scheduler } = this.#stage;
    return new Promise((resolve) => {
      this.#client.schedule(scheduler.now + ms, resolve);
    });
  }
}
