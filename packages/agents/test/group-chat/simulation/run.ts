// Exceeds 300 lines because the actions of the processes and the checks use the same record of added messages.
import { isDeepStrictEqual } from "node:util";
import {
  createMemoryBackend,
  type Interval,
  type Run,
  runScenario,
  type Scenario,
  type SimulatedClient,
  SimulationFailure,
  type World,
} from "@scrollback/simulator";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import type { ChatState } from "../../../src/group-chat/chat-state.ts";
import { AgentGroupChat, type ChatParticipant } from "../../../src/group-chat/index.ts";

/** By agent: the number of tool calls before the answer in each of its turns. */
const agents = { Ann: 0, Bob: 1, Cy: 2 } as const;
type Name = keyof typeof agents;
const names = Object.keys(agents) as Name[];
/** The chat completes after each such number of answers, and continues at the next invoke. */
const ANSWERS_A_ROUND = 5;
const THREAD = "chat";

/** Runs one simulation of a group chat: several processes, each with its own chat, on one thread of a memory driver behind a faulty network. */
export const run: Run = (options) => {
  return runScenario(
    {
      name: "group chat",
      acts: 60,
      createBackend: createMemoryBackend,
      create: (world) => new ChatScenario(world),
    },
    options,
  );
};

interface Process {
  readonly client: SimulatedClient;
  readonly stores: StoreFactory;
  chat: AgentGroupChat;
}

/** An acknowledged message: added, or yielded by an agent's turn. */
interface Acknowledged {
  readonly id: string;
  readonly start: number;
  end: number;
}

/**
 * The invariants of a chat. It is one list of messages that only grows. Each acknowledged message is in the list once, after
 * the messages that were acknowledged before it was begun. Without the users' messages, the list is the beginning of the only
 * possible dialogue: the agents in turn, each turn's calls and results, then its answer.
 */
class ChatScenario implements Scenario {
  readonly #world: World;
  readonly #processes = new Map<SimulatedClient, Process>();
  readonly #acknowledged: Acknowledged[] = [];
  /** By id: the messages that users tried to add. */
  readonly #added = new Map<string, Acknowledged>();
  readonly #orphans: ChatMessage[] = [];
  #log: readonly ChatMessage[] = [];
  #state: ChatState | undefined;
  #count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  begin(client: SimulatedClient): () => Promise<void> {
    const stores = createStores(client.driver, {}, { clock: client.clock });
    const process: Process = { client, stores, chat: this.#newChat(client, stores) };
    this.#processes.set(client, process);
    let isNew = true;
    return async () => {
      const state = isNew && this.#world.random.chance(0.3) ? this.#state : undefined;
      isNew = false;
      if (state) await this.#restore(process, state);
      else await this.#act(process);
    };
  }

  async checkCalm(): Promise<void> {
    for (const process of this.#processes.values()) {
      await this.#read(process, true);
      const before = answersOf(this.#log);
      // A chat that does not know the writes of other processes fails with a conflict, and knows them afterwards. If the last
      // of them is the answer that ends a round, and its process has died, the next call only records the end.
      for (let call = 0; call < 3; call++) await this.#invoke(process);
      await this.#add(process, this.#newMessage());
      await this.#read(process, true);
      if (answersOf(this.#log) <= before)
        this.#fail("availability", "a chat does not continue although nothing disturbs it");
      await this.#read(process, false);
    }
    this.#checkOrder();
  }

  async #act(process: Process): Promise<void> {
    const { random } = this.#world;
    const kind = random.next();
    if (kind < 0.45) await this.#invoke(process);
    else if (kind < 0.6) await this.#add(process, this.#newMessage());
    else if (kind < 0.65 && this.#orphans.length > 0) await this.#adopt(process);
    else if (kind < 0.85) await this.#read(process);
    else if (kind < 0.9) process.chat = this.#newChat(process.client, process.stores);
    else await this.#serialize(process);
  }

  #newChat(client: SimulatedClient, stores: StoreFactory): AgentGroupChat {
    return new AgentGroupChat({
      agents: names.map((name) => this.#agent(client, name)),
      store: stores.open(THREAD),
      termination: (_, history) => answersOf(history) % ANSWERS_A_ROUND === 0,
      automaticReset: true,
      maximumIterations: this.#world.random.pick(1, 3, 9),
    });
  }

  /** Continues from its own messages in the prompt: the next call of its turn, or the answer. */
  #agent(client: SimulatedClient, name: Name): ChatParticipant {
    const sleep = () => this.#world.sleep(client, this.#world.random.next() * 2_000);
    return {
      id: name.toLowerCase(),
      name,
      async *invoke(messages) {
        const own = messages.filter(({ authorName }) => authorName === name);
        const turn = own.filter(isAnswer).length + 1;
        const done = own.slice(own.findLastIndex(isAnswer) + 1).length / 2;
        await sleep();
        for (let call = done + 1; call <= agents[name]; call++) {
          yield toolCall(name, turn, call);
          await sleep();
          yield toolResult(name, turn, call);
        }
        await sleep();
        yield answer(name, turn);
      },
    };
  }

  async #invoke(process: Process): Promise<void> {
    const { random } = this.#world;
    const abort = new AbortController();
    if (this.#world.network.isFaulty && random.chance(0.1))
      process.client.clock.timer(random.next() * 5_000, () => abort.abort());
    const { chat } = process;
    const streams = random.chance(0.3);
    let since = this.#world.moment();
    const given: ChatMessage[] = [];
    const take = (message: ChatMessage) => {
      const end = this.#world.moment();
      this.#acknowledged.push({ id: idOf(message), start: since, end });
      since = end;
      given.push(message);
    };
    const when = this.#world.interval();
    const ended = await this.#world.call(
      process.client,
      when,
      () => `invoke${streams ? "Stream" : ""}`,
      async () => {
        const options = { signal: abort.signal };
        if (!streams) for await (const message of chat.invoke(undefined, options)) take(message);
        else
          for await (const part of chat.invokeStream(undefined, options))
            if (part.type === "message") take(part.message);
      },
    );
    if (ended.error) this.#world.allow(ended.error, "UNAVAILABLE", "CONFLICT", "ABORTED");
  }

  async #add(process: Process, message: ChatMessage): Promise<void> {
    const { random } = this.#world;
    for (let tries = 0; tries < 4; tries++) {
      const when = this.#world.interval();
      const ended = await this.#world.call(
        process.client,
        when,
        () => `add ${message.id}`,
        () => process.chat.addMessages([message]),
      );
      if (!ended.error) {
        this.#acknowledged.push({ id: String(message.id), start: when.start, end: when.end });
        return;
      }
      this.#world.allow(ended.error, "UNAVAILABLE", "CONFLICT");
      if (random.chance(0.3)) break;
      await this.#world.sleep(process.client, random.next() * random.pick(3_000, 600_000));
    }
    this.#orphans.push(message);
  }

  /** Adds again a message that another process tried to add. */
  async #adopt(process: Process): Promise<void> {
    const [message] = this.#orphans.splice(this.#world.random.below(this.#orphans.length), 1);
    if (message) await this.#add(process, message);
  }

  /** Reads the thread, or a chat's view of it, which may be old if other processes have chats on the thread. */
  async #read(process: Process, isFresh = this.#world.random.chance(0.7)): Promise<void> {
    const when = this.#world.interval();
    const ended = await this.#world.call(
      process.client,
      when,
      () => (isFresh ? "read" : "getMessages"),
      async () => {
        if (isFresh) return await process.stores.open(THREAD).listMessages();
        return (await process.chat.getMessages()).reverse();
      },
    );
    if (ended.error) return this.#world.allow(ended.error, "UNAVAILABLE", "CONFLICT");
    this.#checkLog(ended.value, isFresh ? when : { start: 0, end: 0 });
  }

  async #serialize(process: Process): Promise<void> {
    const ended = await this.#world.call(
      process.client,
      this.#world.interval(),
      () => "serialize",
      () => process.chat.serialize(),
    );
    if (ended.error) this.#world.allow(ended.error, "UNAVAILABLE", "CONFLICT");
    else this.#state = ended.value;
  }

  /** The time at which a state was saved does not matter: the thread determines the position of the chat. */
  async #restore(process: Process, state: ChatState): Promise<void> {
    const ended = await this.#world.call(
      process.client,
      this.#world.interval(),
      () => "restore",
      () => process.chat.restore(state),
    );
    if (ended.error) this.#world.allow(ended.error, "UNAVAILABLE", "CONFLICT", "INVALID_STATE");
  }

  #checkLog(log: readonly ChatMessage[], { start }: Interval): void {
    const [shorter, longer] = log.length < this.#log.length ? [log, this.#log] : [this.#log, log];
    for (const [index, message] of shorter.entries()) {
      if (!isDeepStrictEqual(message, longer[index]))
        this.#fail("history", `message ${index} was ${idOf(message)} and ${idOf(longer[index])}`);
    }
    const ids = new Set(log.map(idOf));
    if (ids.size < log.length) this.#fail("history", "a message is stored twice");
    for (const { id, end } of this.#acknowledged) {
      if (end < start && !ids.has(id)) this.#fail("history", `${id} was acknowledged and is missing`);
    }
    for (const message of log) {
      if (message.role === "user" && !this.#added.has(idOf(message)))
        this.#fail("history", `nobody added ${idOf(message)}`);
    }
    this.#checkDialogue(log);
    this.#log = longer;
  }

  #checkDialogue(log: readonly ChatMessage[]): void {
    const answers = log.filter(({ role }) => role !== "user");
    const expected = dialogue(answers.length);
    for (const [index, message] of answers.entries()) {
      const { id: _, ...rest } = message;
      if (!isDeepStrictEqual(rest, expected[index]))
        this.#fail(
          "turns",
          `message ${index} of the agents is ${format(message)}, not ${format(expected[index])}`,
        );
    }
  }

  /** A message that was acknowledged before another one was begun comes first. */
  #checkOrder(): void {
    const places = new Map(this.#log.map((message, index) => [idOf(message), index]));
    const placed = this.#acknowledged.map((one) => ({ ...one, place: places.get(one.id) ?? -1 }));
    for (const one of placed) {
      const start = this.#added.get(one.id)?.start ?? one.start;
      const before = placed.find(({ end, place }) => end < start && place > one.place);
      if (before) this.#fail("order", `${before.id} was acknowledged before ${one.id} and comes after it`);
    }
  }

  #newMessage(): ChatMessage {
    this.#count += 1;
    const id = `user-${this.#count}`;
    this.#added.set(id, { id, ...this.#world.interval() });
    return { id, role: "user", content: id };
  }

  #fail(rule: string, message: string): never {
    throw new SimulationFailure(rule, message);
  }
}

function toolCall(name: Name, turn: number, call: number): ChatMessage {
  const toolCallId = `${name}-${turn}-${call}`;
  return {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId, toolName: "weather", input: { call } }],
    authorName: name,
  };
}

function toolResult(name: Name, turn: number, call: number): ChatMessage {
  const toolCallId = `${name}-${turn}-${call}`;
  return {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId, toolName: "weather", output: { type: "text", value: "warm" } },
    ],
    authorName: name,
  };
}

function answer(name: Name, turn: number): ChatMessage {
  return { role: "assistant", content: `${name} ${turn}`, authorName: name };
}

/** The agents' messages, independent of disturbances: at least the first `length` messages. */
function dialogue(length: number): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (let turn = 1; messages.length < length; turn++) {
    for (const name of names) {
      for (let call = 1; call <= agents[name]; call++)
        messages.push(toolCall(name, turn, call), toolResult(name, turn, call));
      messages.push(answer(name, turn));
    }
  }
  return messages;
}

function isAnswer({ role, content }: ChatMessage): boolean {
  return role === "assistant" && typeof content === "string";
}

function answersOf(history: readonly ChatMessage[]): number {
  return history.filter(isAnswer).length;
}

function idOf(message: ChatMessage | undefined): string {
  return String(message?.id);
}

function format(message: ChatMessage | undefined): string {
  return message ? `${message.authorName}: ${JSON.stringify(message.content)}` : "nothing";
}
