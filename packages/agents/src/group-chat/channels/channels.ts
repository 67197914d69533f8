import { type ChatMessage, StoreError } from "@scrollback/store-core";
import type { ChannelState } from "../chat-state.ts";
import { type AgentChannel, type ChatParticipant, typeOf } from "../participant.ts";
import { checkChannel } from "./channel.ts";
import { ChannelQueue } from "./channel-queue.ts";
import { ChatHistoryChannel } from "./chat-history-channel.ts";

/** The channels of a chat, one for each key, each with its queue. */
export class Channels {
  #byKey = new Map<string, ChannelQueue>();
  #byAgent = new Map<string, ChannelQueue>();

  get size(): number {
    return this.#byKey.size;
  }

  /** The channel of an agent if an agent with an equal key has taken a turn. */
  find(agent: ChatParticipant): ChannelQueue | undefined {
    return this.#byAgent.get(agent.id) ?? this.#byKey.get(channelOf(agent).key);
  }

  /** The channel of an agent. A new one first receives the whole history. */
  join(agent: ChatParticipant, history: readonly ChatMessage[]): ChannelQueue {
    const known = this.#byAgent.get(agent.id);
    if (known) return known;
    const channel = channelOf(agent);
    let queue = this.#byKey.get(channel.key);
    if (!queue) {
      queue = new ChannelQueue(channel);
      this.#byKey.set(channel.key, queue);
      queue.enqueue([...history]);
    }
    this.#byAgent.set(agent.id, queue);
    return queue;
  }

  /** Queues messages for every channel except their origin. Does not wait. */
  broadcast(messages: readonly ChatMessage[], from?: ChannelQueue): void {
    for (const queue of this.#byKey.values()) if (queue !== from) queue.enqueue(messages);
  }

  /**
   * Drops a history channel after a turn that did not finish, because it may hold messages that the chat does not. It is
   * rebuilt from the history. Other kinds of channels stay.
   */
  forgetHistory(queue: ChannelQueue): void {
    if (!(queue.channel instanceof ChatHistoryChannel)) return;
    this.#byKey.delete(queue.channel.key);
    for (const [id, its] of this.#byAgent) if (its === queue) this.#byAgent.delete(id);
  }

  /**
   * The states of the channels that have one, after all queued messages were received. @throws what `drain` and a channel
   * throw.
   */
  async serialize(): Promise<ChannelState[]> {
    const states: ChannelState[] = [];
    for (const queue of this.#byKey.values()) {
      await queue.drain();
      const { channel } = queue;
      if (!channel.serialize) continue;
      const agents = [...this.#byAgent].flatMap(([id, its]) => (its === queue ? [id] : []));
      states.push({ key: channel.key, type: typeOf(channel), agents, state: await channel.serialize() });
    }
    return states;
  }

  /** Restores saved channels. @throws StoreError `INVALID_STATE` with the channel's error as `cause`. */
  async restore(saved: readonly ChannelState[], agents: readonly ChatParticipant[]): Promise<void> {
    for (const [index, channel] of saved.entries()) {
      try {
        await this.#restore(channel, agents);
      } catch (cause) {
        const problem = StoreError.is(cause) ? cause.message : "was refused by its channel; see cause";
        throw new StoreError("INVALID_STATE", `state: channels[${index}]: ${problem}`, { cause });
      }
    }
  }

  /** By agent, not by key: the parts of a key may have changed since. */
  async #restore(saved: ChannelState, agents: readonly ChatParticipant[]): Promise<void> {
    for (const agent of agents.filter(({ id }) => saved.agents.includes(id))) {
      const channel = channelOf(agent);
      let queue = this.#byKey.get(channel.key);
      if (!queue) {
        const type = typeOf(channel);
        if (type !== saved.type || !channel.restore) {
          const problem = `type is "${saved.type}", but agent "${agent.id}" has a channel of type "${type}" now`;
          throw new StoreError("INVALID_STATE", problem);
        }
        await channel.restore(saved.state);
        queue = new ChannelQueue(channel);
        this.#byKey.set(channel.key, queue);
      }
      this.#byAgent.set(agent.id, queue);
    }
  }

  async undoRestore(): Promise<void> {
    const queues = [...this.#byKey.values()];
    this.forget();
    for (const { channel } of queues) await channel.undoRestore?.();
  }

  async reset(): Promise<void> {
    const queues = [...this.#byKey.values()];
    this.forget();
    for (const { channel } of queues) await channel.reset?.();
  }

  /** Drops all channels; new ones are built from the history. */
  forget(): void {
    this.#byKey = new Map();
    this.#byAgent = new Map();
  }
}

function channelOf(agent: ChatParticipant): AgentChannel {
  const channel = agent.createChannel?.() ?? new ChatHistoryChannel(agent.reducer);
  checkChannel(channel, agent);
  return channel;
}
