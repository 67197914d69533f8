import {
  createMemoryBackend,
  type Ended,
  type Interval,
  type Run,
  runScenario,
  type Scenario,
  type SimulatedClient,
  SimulationFailure,
  type World,
} from "@scrollback/simulator";
import { createStores, REQUEST_TIMEOUT_MS } from "@scrollback/store-core/driver";
import { type Session, type SessionEvent, SessionService } from "../../src/index.ts";
import type { SessionKey } from "../../src/session.ts";
import { type Append, type Creation, ownKeys, SessionModel, sharedKeys } from "./model.ts";

const appName = "app";
const users = ["ada", "bob"] as const;

/** Runs one simulation of sessions: several processes, each with its own service, on one memory driver behind a faulty network. */
export const run: Run = (options) => {
  return runScenario(
    {
      name: "sessions",
      acts: 150,
      // The memory driver remembers the operations of a deleted session for as long as requests of drivers take.
      latestMs: REQUEST_TIMEOUT_MS,
      createBackend: createMemoryBackend,
      create: (world) => new SessionScenario(world),
    },
    options,
  );
};

/** A process: a service, and the session objects of its callers. */
interface Process {
  readonly client: SimulatedClient;
  readonly service: SessionService;
  readonly held: Map<string, Session>;
}

class SessionScenario implements Scenario {
  readonly #world: World;
  readonly #model: SessionModel;
  /** The session ids of the run: either few, which are often deleted, or many. */
  readonly #ids: readonly string[];
  readonly #deletions: number;
  readonly #processes = new Map<SimulatedClient, Process>();
  /** Events whose append has an unknown outcome. */
  readonly #orphans: Append[] = [];
  #count = 0;

  constructor(world: World) {
    this.#world = world;
    this.#model = new SessionModel(world.hasRightClocks);
    const { random } = world;
    const isLarge = random.chance(0.15);
    const count = isLarge ? 90 : random.pick(1, 2, 3, 6);
    this.#deletions = isLarge ? 0.01 : random.pick(0.02, 0.1, 0.2);
    this.#ids = Array.from({ length: count }, (_, index) => `s${index}`);
  }

  begin(client: SimulatedClient): () => Promise<void> {
    const { random } = this.#world;
    const stores = createStores(client.driver, {}, { clock: client.clock });
    const staleWriter = random.pick("reject", "reload");
    const service = new SessionService({ stores, staleWriter, clock: client.clock });
    const process: Process = { client, service, held: new Map() };
    this.#processes.set(client, process);
    return () => this.#act(process);
  }

  async checkCalm(): Promise<void> {
    const { random } = this.#world;
    const processes = [...this.#processes.values()];
    for (const process of processes) await this.#must(process, "flush", () => process.service.flush());
    const process = random.pick(processes[0] as Process, ...processes);
    for (const key of this.#keys()) {
      const session = await this.#get(process, key, undefined);
      if (session) await this.#append(process, key, session, this.#newEvent(key));
    }
    for (const one of processes) for (const user of [...users, undefined]) await this.#list(one, user);
    for (const one of processes) for (const key of this.#keys()) await this.#get(one, key, undefined);
    this.#model.check();
    for (const key of this.#keys()) await this.#delete(process, key);
    for (const one of processes) {
      const left = await this.#must(one, "list", () => one.service.listSessions({ appName }));
      if (left.sessions.length > 0) throw new SimulationFailure("listed", "a deleted session is listed");
    }
    const [first] = this.#keys();
    if (first) {
      await this.#create(process, first);
      await this.#get(process, first, undefined);
      await this.#list(process, undefined);
    }
    this.#model.check();
    for (const userId of users) {
      await this.#must(process, "deleteUser", () => process.service.deleteUser({ appName, userId }));
      const state = await this.#must(process, "read", () =>
        process.service.getUserState({ appName, userId }),
      );
      const { sessions } = await this.#must(process, "list", () =>
        process.service.listSessions({ appName, userId }),
      );
      if (Object.keys(state).length + sessions.length > 0)
        throw new SimulationFailure("deleted", "a deleted user has a state or sessions");
    }
  }

  async #act(process: Process): Promise<void> {
    const { random } = this.#world;
    const keys = this.#keys();
    const key = keys[random.below(keys.length)] ?? "";
    const held = process.held.get(key);
    const kind = random.next();
    if (kind < 0.1) await this.#list(process, random.pick(undefined, ...users));
    else if (kind < 0.1 + this.#deletions) await this.#delete(process, key);
    else if (kind < 0.45) await this.#getOrCreate(process, key);
    else if (kind < 0.52) await this.#update(process, key);
    else if (kind < 0.54)
      await this.#call(process, this.#world.interval(), "flush", () => process.service.flush());
    else if (kind < 0.62 && this.#orphans.length > 0) await this.#adopt(process);
    else if (held) await this.#append(process, key, held, this.#newEvent(key));
    else await this.#getOrCreate(process, key);
  }

  #keys(): string[] {
    return this.#ids.flatMap((id, index) =>
      this.#ids.length > 10 ? [`${users[index % 2]}/${id}`] : users.map((user) => `${user}/${id}`),
    );
  }

  async #getOrCreate(process: Process, key: string): Promise<void> {
    const { random } = this.#world;
    const session = await this.#get(process, key, random.pick(undefined, undefined, 0, 2));
    if (!session && random.chance(0.9)) await this.#create(process, key);
  }

  async #get(
    process: Process,
    key: string,
    numRecentEvents: number | undefined,
  ): Promise<Session | undefined> {
    const when = this.#world.interval();
    const config = numRecentEvents === undefined ? {} : { config: { numRecentEvents } };
    const ended = await this.#call(process, when, `get ${key}`, () =>
      process.service.getSession({ ...parse(key), ...config }),
    );
    if (ended.error) {
      this.#allow(ended.error, "UNAVAILABLE");
      return undefined;
    }
    const session = ended.value;
    this.#model.sees(key, session, when, numRecentEvents === undefined);
    if (session) process.held.set(key, session);
    else process.held.delete(key);
    return session;
  }

  async #create(process: Process, key: string): Promise<void> {
    const origin = `origin-${++this.#count}`;
    const state = { origin, ...this.#values([...sharedKeys, ...ownKeys]) };
    const creation: Creation = {
      ...this.#world.interval(),
      origin,
      key,
      state,
      seenAt: Number.POSITIVE_INFINITY,
    };
    this.#model.creates(creation);
    const ended = await this.#call(process, creation, `create ${key} ${JSON.stringify(state)}`, () =>
      process.service.createSession({ ...parse(key), state }),
    );
    if (!ended.error) {
      process.held.set(key, ended.value);
      return this.#model.sees(key, ended.value, creation, false);
    }
    this.#allow(ended.error, "UNAVAILABLE", "CONFLICT");
    // A creation with a lost reply may have taken effect. A conflict may be a conflict with the call's own first attempt.
    creation.end = Number.POSITIVE_INFINITY;
  }

  async #append(process: Process, key: string, session: Session, append: Append): Promise<void> {
    const { random } = this.#world;
    for (let tries = 0; tries < 4; tries++) {
      const attempt = this.#world.interval();
      append.attempts.push(attempt);
      const { event } = append;
      const ended = await this.#call(process, attempt, `append ${key} ${JSON.stringify(event)}`, () =>
        process.service.appendEvent({ session, event: structuredClone(event) }),
      );
      if (!ended.error) return this.#model.appended(append, session, attempt.end);
      this.#allow(ended.error, "UNAVAILABLE", "CONFLICT", "NOT_FOUND");
      if (ended.error.code !== "UNAVAILABLE") break;
      if (random.chance(0.3)) {
        this.#orphans.push(append);
        return;
      }
      await this.#world.sleep(process.client, random.next() * random.pick(3_000, 3_000, 600_000));
    }
    process.held.delete(key);
  }

  async #update(process: Process, key: string): Promise<void> {
    const { random } = this.#world;
    const when = this.#world.interval();
    const title = random.chance(0.5) ? { title: `title-${++this.#count}` } : {};
    const values = this.#values(random.chance(0.5) ? ["own"] : ["app:one", "user:two"]);
    this.#model.updates(key, values, when);
    this.#model.ownUpdates.push({ key, values: { ...values, ...title }, interval: when });
    const ended = await this.#call(
      process,
      when,
      `update ${key} ${JSON.stringify({ ...title, values })}`,
      () => process.service.updateSession({ ...parse(key), ...title, state: values }),
    );
    if (ended.error) {
      this.#allow(ended.error, "UNAVAILABLE", "NOT_FOUND");
      when.end = Number.POSITIVE_INFINITY;
    } else this.#model.sees(key, ended.value, when, false);
  }

  async #delete(process: Process, key: string): Promise<void> {
    const when = this.#world.interval();
    this.#model.deletes(key, when);
    const ended = await this.#call(process, when, `delete ${key}`, () =>
      process.service.deleteSession(parse(key)),
    );
    process.held.delete(key);
    if (ended.error) this.#allow(ended.error, "UNAVAILABLE");
  }

  async #list(process: Process, userId: (typeof users)[number] | undefined): Promise<void> {
    const when = this.#world.interval();
    const { random } = this.#world;
    const request = {
      appName,
      ...(userId && { userId }),
      limit: 100,
      order: random.pick<"asc" | "desc">("asc", "desc"),
    };
    const ended = await this.#call(process, when, `list ${userId ?? "all"}`, () =>
      process.service.listSessions(request),
    );
    if (ended.error) return this.#allow(ended.error, "UNAVAILABLE");
    const { sessions, nextPageToken } = ended.value;
    if (nextPageToken !== undefined) throw new SimulationFailure("listed", "there are too many sessions");
    const byKey = new Map(sessions.map((session) => [`${session.userId}/${session.id}`, session]));
    if (byKey.size < sessions.length) throw new SimulationFailure("listed", "a session is listed twice");
    this.#model.lists(byKey, (key) => userId === undefined || key.startsWith(`${userId}/`), when);
  }

  /** Continues with an event of a process that died or gave up. */
  async #adopt(process: Process): Promise<void> {
    const [append] = this.#orphans.splice(this.#world.random.below(this.#orphans.length), 1);
    const session = append && (await this.#get(process, append.key, undefined));
    if (append && session) await this.#append(process, append.key, session, append);
  }

  #newEvent(key: string): Append {
    const { random } = this.#world;
    const names = [...sharedKeys, ...ownKeys].filter(() => random.chance(0.35));
    const delta = this.#values(names);
    const id = `e${++this.#count}`;
    const event: SessionEvent = {
      ...{ id, author: random.pick("user", "agent"), content: id },
      timestamp: Math.floor(this.#world.scheduler.now) / 1_000,
      ...(names.length > 0 && { actions: { stateDelta: delta } }),
    };
    const append: Append = {
      event,
      key,
      delta,
      attempts: [],
      interval: this.#world.interval(),
      seenAt: Number.POSITIVE_INFINITY,
    };
    this.#model.appends(append);
    return append;
  }

  #values(names: readonly string[]): Record<string, unknown> {
    this.#count += 1;
    return Object.fromEntries(names.map((name) => [name, `${name}-${this.#count}`]));
  }

  #call<T>(process: Process, when: Interval, words: string, work: () => Promise<T>): Promise<Ended<T>> {
    return this.#world.call(process.client, when, () => words, work);
  }

  async #must<T>(process: Process, words: string, work: () => Promise<T>): Promise<T> {
    const ended = await this.#call(process, this.#world.interval(), words, work);
    if (ended.error) throw new SimulationFailure("availability", `${words} failed with ${ended.error}`);
    return ended.value;
  }

  /** No call may fail with another error code, and no call may fail with UNAVAILABLE after the disturbances have ended. */
  #allow(error: { readonly code: string }, ...codes: readonly string[]): void {
    const isCalm = !this.#world.network.isFaulty;
    if (!codes.includes(error.code) || (isCalm && error.code === "UNAVAILABLE")) {
      const failure = new SimulationFailure("errors", `a call failed with ${error}`);
      failure.cause = error;
      throw failure;
    }
    this.#world.counters.count(error.code);
  }
}

function parse(key: string): SessionKey {
  const [userId = "", sessionId = ""] = key.split("/");
  return { appName, userId, sessionId };
}
