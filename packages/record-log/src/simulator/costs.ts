import type { CommitOutcome, ReadRequest, ThreadView } from "@scrollback/store-core/driver";
import type { SimulatedClient } from "./client.ts";
import { MINUTE } from "./network.ts";
import type { Operation } from "./operation.ts";
import type { SimulatedCall } from "./simulated-call.ts";
import type { SimulatedThread } from "./thread.ts";

/** The time for which a driver trusts its cached state of a thread. */
const TRUSTED_MS = 5 * MINUTE;

/** A client's knowledge of a thread when a commit began. */
export interface Before {
  readonly thread: SimulatedThread;
  readonly client: SimulatedClient;
  readonly situation: "new thread" | "restart" | "cold" | "warm";
  readonly step: number;
}

/**
 * The numbers of requests of calls, by situation. Counts only undisturbed calls: without a fault, another call of the
 * same client, or another writer.
 */
export class CostTable {
  /** By situation: the number of calls for each number of requests. */
  readonly table = new Map<string, Map<number, number>>();
  readonly #touched = new WeakMap<object, Map<string, { wall: number; monotonic: number }>>();

  before(thread: SimulatedThread, client: SimulatedClient): Before {
    return { thread, client, situation: this.#situation(thread, client), step: thread.model?.step ?? 0 };
  }

  afterCommit(
    { thread, client, situation, step }: Before,
    call: SimulatedCall,
    { append, drop, settings }: Operation,
    { outcome }: CommitOutcome,
  ): void {
    this.#touch(thread, client);
    const { model } = thread;
    if (!model || call.isDisturbed || !call.isAlone || outcome !== "committed") return;
    // Another writer came between.
    if (model.step - step !== call.rows) return;
    const head = model.endHead;
    const isBeginning = situation === "restart" || situation === "new thread";
    const parts = [
      `commit, ${situation}`,
      drop === 0 ? "" : drop === "all" ? "drop of all" : "drop",
      append.length > 0 && head?.fragments ? "large" : "",
      head?.n !== undefined && head.n % 32 === 0 ? "32nd" : "",
      settings.maxMessages === undefined ? "" : "trimming",
      call.rows > 1 && !isBeginning && !head?.fragments ? "raise" : "",
    ];
    this.#add(parts.filter((part) => part !== "").join(", "), call.requests);
  }

  afterRead(
    call: SimulatedCall,
    { limit, before, after }: Pick<ReadRequest, "limit" | "before" | "after">,
    { count }: ThreadView,
  ): void {
    if (call.isDisturbed || !call.isAlone) return;
    const size = limit > 1_000 ? (count > 250 ? "whole, long" : "whole") : limit === 0 ? "nothing" : "page";
    const side = before !== undefined ? " before" : after !== undefined ? " after" : "";
    this.#add(`read ${size}${side}`, call.requests);
  }

  #situation(thread: SimulatedThread, client: SimulatedClient): Before["situation"] {
    const { model } = thread;
    if (thread.rows.size === 0) return "new thread";
    const wall = client.wall();
    const { state, expiresAt = Number.POSITIVE_INFINITY } = model?.current ?? { state: undefined };
    if (!state || wall >= expiresAt) return "restart";
    const touched = this.#touched.get(client.driver)?.get(thread.threadId);
    const isRecent =
      touched &&
      Math.abs(wall - touched.wall) < TRUSTED_MS &&
      client.clock.monotonic() - touched.monotonic < TRUSTED_MS;
    return isRecent ? "warm" : "cold";
  }

  #touch(thread: SimulatedThread, client: SimulatedClient): void {
    const threads = this.#touched.get(client.driver) ?? new Map();
    threads.set(thread.threadId, { wall: client.wall(), monotonic: client.clock.monotonic() });
    this.#touched.set(client.driver, threads);
  }

  #add(name: string, requests: number): void {
    const row = this.table.get(name) ?? new Map<number, number>();
    row.set(requests, (row.get(requests) ?? 0) + 1);
    this.table.set(name, row);
  }
}
