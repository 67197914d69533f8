import { DocumentDriver } from "@scrollback/documents";
import {
  type Driver,
  type DriverCapabilities,
  type EntryIndex,
  PendingCalls,
  REQUEST_TIMEOUT_MS,
} from "@scrollback/store-core/driver";
import { capabilities } from "./durable-object-client.ts";
import { classifyDurableObject } from "./errors.ts";
import { bodyOf, readReply, type Send, type Unsendable, type Verb } from "./protocol.ts";

/** The driver of a Durable Object, called from another place: a request and a reply for each verb. */
export class RemoteDriver implements Driver {
  readonly capabilities: DriverCapabilities = DocumentDriver.capabilitiesOf(
    { ...capabilities, sharing: "network" },
    true,
  );
  readonly index: EntryIndex = {
    insertEntry: (request) => this.#call("insertEntry", request),
    updateEntry: (request) => this.#call("updateEntry", request),
    removeEntry: (request) => this.#call("removeEntry", request),
    entriesOf: (request) => this.#call("entriesOf", request),
    listEntries: (request) => this.#call("listEntries", request),
    listIndexes: (request) => this.#call("listIndexes", request),
  };
  readonly #send: Send;
  readonly #calls = new PendingCalls();

  constructor(send: Send) {
    this.#send = send;
  }

  commit: Driver["commit"] = (request) => this.#call("commit", request);
  read: Driver["read"] = (request) => this.#call("read", request);
  delete: Driver["delete"] = (request) => this.#call("delete", request);
  list: Driver["list"] = (request) => this.#call("list", request);
  setup = (): Promise<void> => this.#call("setup", {});

  close(): Promise<void> {
    return this.#calls.close(() => undefined);
  }

  classifyError = classifyDurableObject;

  #call<T>(verb: Verb, request: Unsendable): Promise<T> {
    const sent = { method: "POST", body: bodyOf(request) };
    // A body may stall too.
    return this.#calls.run(
      async () => readReply<T>(await this.#send(new Request(`https://scrollback/${verb}`, sent))),
      REQUEST_TIMEOUT_MS,
    );
  }
}
