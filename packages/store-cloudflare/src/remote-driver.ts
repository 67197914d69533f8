import { DocumentDriver } from "@scrollback/documents";
import { StoreError } from "@scrollback/store-core";
import {
  type Driver,
  type DriverCapabilities,
  type EntryIndex,
  PendingCalls,
  REQUEST_TIMEOUT_MS,
} from "@scrollback/store-core/driver";
import { capabilities } from "./durable-object-client.ts";
import { classifyDurableObject } from "./errors.ts";
import { replyOf, type Send, type Unsendable, type Verb } from "./protocol.ts";

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

  async #call<T>(verb: Verb, { signal, sendBefore, isNewOperation, ...request }: Unsendable): Promise<T> {
    const body = JSON.stringify({
      ...request,
      ...(sendBefore !== undefined && { sendWithinMs: sendBefore - performance.now() }),
    });
    const send = () => this.#send(new Request(`https://scrollback/${verb}`, { method: "POST", body }));
    // A body may stall too.
    const reply = await this.#calls.run(async () => replyOf<T>(await send()), REQUEST_TIMEOUT_MS);
    if (!reply.error) return reply.value;
    const { code, message, isMissing, ...options } = reply.error;
    throw Object.assign(new StoreError(code, message, options), { isMissing });
  }
}
