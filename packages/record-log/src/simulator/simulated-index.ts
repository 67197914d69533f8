import type { EntryIndex } from "@scrollback/store-core/driver";
import type { MemoryIndex } from "@scrollback/store-core/internal";
import type { SimulatedClient } from "./client.ts";
import type { Network } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";

type Verb = keyof EntryIndex;
const WRITES: ReadonlySet<Verb> = new Set(["insertEntry", "updateEntry", "removeEntry"]);

/** An index that all clients share, for one client: each request passes the network. */
export function indexFor(
  { network, scheduler }: { readonly network: Network; readonly scheduler: Scheduler },
  index: MemoryIndex,
  client: SimulatedClient,
): EntryIndex {
  const send = <A, R>(verb: Verb, run: (request: A) => Promise<R>) =>
    client.untilCrash((request: A) => {
      const about = {
        isWrite: WRITES.has(verb),
        // An insert is never repeated.
        isOnce: verb === "insertEntry",
        number: 0,
        words: () => `${verb} ${JSON.stringify(request)}`,
      };
      return network.send<R>(client, about, (reply) => {
        void run(request).then(reply);
        scheduler.settled();
      });
    });
  return {
    insertEntry: send("insertEntry", (request) => index.insertEntry(request)),
    updateEntry: send("updateEntry", (request) => index.updateEntry(request)),
    removeEntry: send("removeEntry", (request) => index.removeEntry(request)),
    entriesOf: send("entriesOf", (request) => index.entriesOf(request)),
    listEntries: send("listEntries", (request) => index.listEntries(request)),
    listIndexes: send("listIndexes", (request) => index.listIndexes(request)),
  };
}
