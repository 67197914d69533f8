import { type RecordLog, RecordLogDriver } from "../../src/index.ts";
import type { Order } from "./log.ts";

/** What a driver reaches in one execution. */
export interface Surroundings {
  wall(): number;
  monotonic(): number;
  send(order: Order): Promise<unknown>;
  readonly stream: string;
}

interface Slot {
  readonly driver: RecordLogDriver;
  surroundings: Surroundings;
}

/**
 * The drivers of all executions, one for each process: a new one for each execution would take half of the time. Each
 * execution has a stream of its own, of which a driver knows nothing before.
 */
export class Drivers {
  readonly #all: Slot[] = [];
  #streams = 0;

  newStream(): string {
    this.#streams += 1;
    return `thread ${this.#streams}`;
  }

  /** The driver of a process. What it was part of before must have ended. */
  driverOf(process: number, surroundings: Surroundings): RecordLogDriver {
    const known = this.#all[process];
    if (known) {
      known.surroundings = surroundings;
      return known.driver;
    }
    const send = <T>(order: Order): Promise<T> => created.surroundings.send(order) as Promise<T>;
    const log: RecordLog = {
      capabilities: {
        ...{ backend: "explored", sharing: "network", maxRowBytes: 65_536 },
        roundTrips: { commit: 1, read: 1 },
      },
      insert: (_, row) => send({ verb: "insert", row }),
      read: (_, below, limit) => send({ verb: "read", below, limit }),
      amend: (_, amendments) => send({ verb: "amend", amendments }),
      streams: () => send({ verb: "streams", stream: created.surroundings.stream }),
      close: async () => undefined,
      classifyError: () => undefined,
    };
    const clock = {
      wall: () => created.surroundings.wall(),
      monotonic: () => created.surroundings.monotonic(),
      sleep: async () => undefined,
    };
    const created: Slot = { driver: new RecordLogDriver(log, { clock }), surroundings };
    this.#all[process] = created;
    return created.driver;
  }
}
