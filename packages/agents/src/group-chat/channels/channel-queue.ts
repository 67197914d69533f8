import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { type AgentChannel, typeOf } from "../participant.ts";

/** The batches that a channel has yet to receive, first in, first out. A batch is removed after the channel received it. */
export class ChannelQueue {
  readonly channel: AgentChannel;
  readonly #batches: (readonly ChatMessage[])[] = [];
  #failure: { readonly error: unknown } | undefined;
  #receiving: Promise<void> | undefined;

  constructor(channel: AgentChannel) {
    this.channel = channel;
  }

  /** Queues a batch and returns at once. A batch that failed before is retried first. */
  enqueue(messages: readonly ChatMessage[]): void {
    if (messages.length === 0) return;
    this.#batches.push(messages);
    this.#start();
  }

  /**
   * Waits until the channel has received everything.
   *
   * @throws StoreError `UNAVAILABLE` for a failure since the last call, once; the next call tries again.
   */
  async drain(): Promise<void> {
    for (;;) {
      await this.#receiving;
      if (this.#failure) {
        const { error } = this.#failure;
        this.#failure = undefined;
        const problem = `Unexpected failure broadcasting to channel: ${typeOf(this.channel)}; see cause`;
        throw new StoreError("UNAVAILABLE", problem, { cause: error, retryable: true });
      }
      if (this.#batches.length === 0) return;
      this.#start();
    }
  }

  #start(): void {
    this.#receiving ??= this.#receive().finally(() => {
      this.#receiving = undefined;
    });
  }

  async #receive(): Promise<void> {
    for (let batch = this.#batches[0]; batch; batch = this.#batches[0]) {
      try {
        await this.channel.receive([...batch]);
      } catch (error) {
        this.#failure = { error };
        return;
      }
      this.#batches.shift();
    }
  }
}
