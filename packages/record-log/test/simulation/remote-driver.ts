import type { Driver, ErrorClassification, MemoryDriver } from "@scrollback/store-core/driver";
import type { SimulatedClient } from "../../src/simulator/client.ts";
import { ConnectionLost } from "../../src/simulator/network.ts";
import type { World } from "../../src/simulator/scenario.ts";

/** Receives the commits to a thread, in the order of their effects. */
export type OnCommit = (
  request: Parameters<Driver["commit"]>[0],
  outcome: Awaited<ReturnType<Driver["commit"]>>,
) => void;

/**
 * A memory driver behind the simulated network: requests and replies are lost, delayed or repeated, and the process may crash
 * between any two. The memory driver itself keeps running, as a server would.
 */
export function remoteDriver(
  world: World,
  client: SimulatedClient,
  memory: MemoryDriver,
  onCommit: OnCommit,
): Driver {
  let requests = 0;
  const send = <T>(isWrite: boolean, words: string, effect: (isEcho: boolean) => Promise<T>) => {
    requests += 1;
    const request = { isWrite, number: requests, words: () => words };
    return world.network.send<T>(client, request, (reply, isEcho) => {
      effect(isEcho).then(reply, (error) => world.scheduler.fail(error));
      world.scheduler.settled();
    });
  };
  return {
    capabilities: memory.capabilities,
    commit: client.untilCrash((request) =>
      send(true, `commit ${request.operationId}`, async (isEcho) => {
        // The driver runs in this process and cannot be called twice with one incarnation: each call has its own.
        const newIncarnation = isEcho ? `${request.newIncarnation}-again` : request.newIncarnation;
        const outcome = await memory.commit({ ...request, newIncarnation });
        onCommit(request, outcome);
        return outcome;
      }),
    ),
    read: client.untilCrash((request) => send(false, `read ${request.threadId}`, () => memory.read(request))),
    delete: client.untilCrash((request) =>
      send(true, `delete ${request.threadId}`, () => memory.delete(request)),
    ),
    list: client.untilCrash((request) => send(false, `list ${request.prefix}`, () => memory.list(request))),
    close: async () => undefined,
    classifyError: (error): ErrorClassification | undefined =>
      error instanceof ConnectionLost
        ? { code: "UNAVAILABLE", message: "the connection was lost", retryable: true }
        : undefined,
    exportThread: (threadId) => memory.exportThread(threadId),
    importThread: (threadId, snapshot) => memory.importThread(threadId, snapshot),
  };
}
