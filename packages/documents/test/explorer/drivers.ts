import { type DocumentDatabase, DocumentDriver } from "../../src/index.ts";
import { type Verb, verbs } from "../harness.ts";

/** What a driver reaches in one execution. */
export interface Surroundings {
  readonly capabilities: DocumentDatabase["capabilities"];
  wall(): number;
  monotonic(): number;
  send(verb: Verb, request: readonly unknown[]): Promise<unknown>;
}

interface Slot {
  readonly driver: DocumentDriver;
  surroundings: Surroundings;
}

/**
 * The drivers of all executions, one for each process: new ones for each execution would take half of the time. Each execution has a
 * thread of its own, of which a driver knows nothing before.
 */
export class Drivers {
  readonly #all: Slot[] = [];
  #threads = 0;

  newThread(): string {
    this.#threads += 1;
    return `thread ${this.#threads}`;
  }

  /** The driver of a process. What it was part of before must have ended. */
  driverOf(process: number, surroundings: Surroundings): DocumentDriver {
    const known = this.#all[process];
    if (known) {
      known.surroundings = surroundings;
      return known.driver;
    }
    const requests = verbs.map((verb) => [
      verb,
      (...request: readonly unknown[]) => created.surroundings.send(verb, request),
    ]);
    const { capabilities } = surroundings;
    const database = { ...Object.fromEntries(requests), capabilities } as DocumentDatabase;
    const clock = {
      wall: () => created.surroundings.wall(),
      monotonic: () => created.surroundings.monotonic(),
      sleep: async () => undefined,
      timer: () => () => undefined,
    };
    const created: Slot = { driver: new DocumentDriver(database, { clock }), surroundings };
    this.#all[process] = created;
    return created.driver;
  }
}
