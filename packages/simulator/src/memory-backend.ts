import { StoreError } from "@scrollback/store-core";
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type EntryIndex,
  MemoryDriver,
} from "@scrollback/store-core/driver";
import { classifyLoss, type SimulatedRequest } from "./network.ts";
import type { SimulatedBackend, World } from "./world.ts";

/** Receives the writes, in the order of their effects. */
export interface MemoryEffects {
  onCommit?(request: CommitRequest, outcome: CommitOutcome): void;
  onDelete?(request: DeleteRequest, outcome: DeleteOutcome): void;
}

/** The memory driver as a backend: each verb of a process's driver is one request to the memory driver that all processes share. */
export function createMemoryBackend(world: World, effects: MemoryEffects = {}): SimulatedBackend {
  const memory = new MemoryDriver({ clock: { wall: () => world.backendWall() } });
  return {
    createDriver(client) {
      const send = world.network.senderOf(client);
      const verb =
        <A extends Pick<DeleteRequest, "signal" | "sendBefore">, R>(
          name: string,
          kind: SimulatedRequest<R>["kind"],
          run: (request: A, isEcho: boolean) => Promise<R>,
        ) =>
        async (request: A) => {
          if (request.sendBefore !== undefined && client.clock.monotonic() >= request.sendBefore)
            throw new StoreError("UNAVAILABLE", "it is too late to repeat the request");
          const words = () => `${name} ${JSON.stringify(request)}`;
          return await send({ kind, words, run: (isEcho) => run(request, isEcho) });
        };
      const { index } = memory;
      const remoteIndex: EntryIndex = {
        insertEntry: verb("insertEntry", "once", (request) => index.insertEntry(request)),
        updateEntry: verb("updateEntry", "write", (request) => index.updateEntry(request)),
        removeEntry: verb("removeEntry", "write", (request) => index.removeEntry(request)),
        entriesOf: verb("entriesOf", "read", (request) => index.entriesOf(request)),
        listEntries: verb("listEntries", "read", (request) => index.listEntries(request)),
        listIndexes: verb("listIndexes", "read", (request) => index.listIndexes(request)),
      };
      return {
        capabilities: memory.capabilities,
        index: remoteIndex,
        commit: verb("commit", "write", async (request: CommitRequest, isEcho) => {
          // A request that is sent twice may begin a thread twice, each time with an incarnation of its own.
          const newIncarnation = isEcho ? `${request.newIncarnation}-again` : request.newIncarnation;
          const outcome = await memory.commit({ ...request, newIncarnation });
          effects.onCommit?.(request, outcome);
          return outcome;
        }),
        read: verb("read", "read", (request) => memory.read(request)),
        delete: verb("delete", "write", async (request: DeleteRequest) => {
          const outcome = await memory.delete(request);
          effects.onDelete?.(request, outcome);
          return outcome;
        }),
        list: verb("list", "read", (request) => memory.list(request)),
        close: async () => undefined,
        classifyError: classifyLoss,
        exportThread: (threadId) => memory.exportThread(threadId),
        importThread: (threadId, snapshot) => memory.importThread(threadId, snapshot),
      };
    },
  };
}
