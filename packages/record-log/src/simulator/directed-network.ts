import type { SimulatedClient } from "./client.ts";
import { ConnectionLost, type Effect, Network } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";

const USUAL_MS = 5;

/** The course of one request, in milliseconds of simulated time. */
export interface Fate {
  /** The time until the request takes effect. */
  readonly requestMs?: number;
  /** The time until the reply arrives. */
  readonly replyMs?: number;
  /** Whether its reply is lost. */
  readonly isReplyLost?: boolean;
  /** Whether its client crashes after sending it. */
  readonly crashes?: boolean;
}

interface Order extends Fate {
  readonly client: SimulatedClient;
  readonly request: RegExp;
  reached(): void;
}

/** A network with only the faults that a script requests. */
export class DirectedNetwork extends Network {
  readonly #scheduler: Scheduler;
  readonly #orders: Order[] = [];

  constructor(...options: ConstructorParameters<typeof Network>) {
    super(...options);
    [this.#scheduler] = options;
    this.isFaulty = false;
  }

  /** Decides on the next request of a client whose words match. Resolves when it has been sent. */
  direct(client: SimulatedClient, request: RegExp, fate: Fate): Promise<void> {
    return new Promise((resolve) => {
      this.#orders.push({ ...fate, client, request, reached: resolve });
    });
  }

  override send<T>(
    client: SimulatedClient,
    { number, words }: { readonly number: number; readonly words: () => string },
    effect: Effect<T>,
  ): Promise<T> {
    const scheduler = this.#scheduler;
    scheduler.step("sent", client.index, number, words());
    const at = this.#orders.findIndex((order) => order.client === client && order.request.test(words()));
    const [order] = at < 0 ? [] : this.#orders.splice(at, 1);
    for (const call of client.calls) {
      call.requests += 1;
      call.isDisturbed ||= order !== undefined;
    }
    const { requestMs = USUAL_MS, replyMs = USUAL_MS, isReplyLost, crashes } = order ?? {};
    const reply = new Promise<T>((resolve, reject) => {
      scheduler.at(scheduler.now + requestMs, () => {
        scheduler.step("effect", client.index, number, words());
        effect((value) => {
          // Nothing waits for the reply any more.
          if (crashes) return;
          client.schedule(scheduler.now + replyMs, () => {
            scheduler.step(isReplyLost ? "lost" : "reply", client.index, number, words());
            if (isReplyLost) reject(new ConnectionLost("the connection was lost"));
            else resolve(value);
          });
        }, false);
      });
      if (crashes) client.crash();
    });
    order?.reached();
    return reply;
  }
}
