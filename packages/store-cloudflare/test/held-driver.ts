import { randomUUID } from "node:crypto";
import type { Driver, DriverCapabilities } from "@scrollback/store-core/driver";
import { bodyOf, readReply, type Unsendable, type Verb } from "../src/protocol.ts";
import type { DriverName } from "./drivers.ts";

/** What an object in workerd opens a driver from. Plain data, because it is sent to child processes. */
export interface HeldDriver {
  /** The port of workerd. */
  readonly port: number;
  readonly name: DriverName;
  /** What the child processes of the backend's suite are given. */
  readonly data: unknown;
  readonly capabilities: DriverCapabilities;
}

/** Returns the URL of an object of its own. */
export function objectFor({ port, name, data }: HeldDriver): string {
  return `http://127.0.0.1:${port}/${name}/${encodeURIComponent(JSON.stringify({ id: randomUUID(), data }))}`;
}

/** On a connection of its own: workerd may close one after a large body, which a next request finds too late. */
export function post(url: string, body = ""): Promise<Response> {
  return fetch(url, { method: "POST", body, headers: { connection: "close" } });
}

/** The client of the driver that an object holds, without a time limit of its own. Counts the requests of that driver. */
export function open(held: HeldDriver, url = objectFor(held)): { driver: Driver; requestCount(): number } {
  const { index, roundTrips, ...others } = held.capabilities;
  let count = 0;
  const verb =
    (name: Verb) =>
    async <T>(request: Unsendable): Promise<T> => {
      const reply = await post(`${url}/${name}`, bodyOf(request));
      count = Math.max(count, Number(reply.headers.get("requests")));
      return await readReply(reply);
    };
  const setup = verb("setup");
  const driver: Driver = {
    capabilities: Object.freeze({
      ...others,
      roundTrips: Object.freeze(roundTrips),
      ...(index && { index: Object.freeze(index) }),
    }),
    index: {
      insertEntry: verb("insertEntry"),
      updateEntry: verb("updateEntry"),
      removeEntry: verb("removeEntry"),
      entriesOf: verb("entriesOf"),
      listEntries: verb("listEntries"),
      listIndexes: verb("listIndexes"),
    },
    commit: verb("commit"),
    read: verb("read"),
    delete: verb("delete"),
    list: verb("list"),
    setup: () => setup<string | undefined>({}),
    async close() {
      await post(`${url}/close`);
    },
    // Errors arrive classified.
    classifyError: () => undefined,
  };
  return { driver, requestCount: () => count };
}

/** The client of a new driver. Imported by child processes. */
export const connect = (data: unknown) => open(data as HeldDriver).driver;
