import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import type { Backend } from "../backend.ts";
import { textsIn, user } from "../messages/messages.ts";
import type { Observation } from "../observed/observation.ts";
import { expectExplained, observe } from "../observed/run.ts";
import type { RemoteJob } from "../processes/run-in-process.ts";
import type { ProxyMode } from "../proxy/tcp-proxy.ts";
import type { LoadOptions } from "./load.ts";

/** The processes of a server that tests may break. */
export interface ServerControl {
  /** Ends it as a crash does; durable data stays. */
  kill(): Promise<void>;
  /** Starts it again and returns when it replies. */
  start(): Promise<void>;
  /** Freezes it: connections stay open without replies. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
}

/** The target of a fault. */
interface FaultScene {
  readonly backend: Backend;
  /** See {@link underLoad}. Default: three other clients, checked by the harness's own. Returns the figure. */
  underLoad(fault: () => Promise<void>, options?: Partial<LoadOptions>): Promise<string>;
  /** Absent for a backend without a server. */
  readonly server: ServerControl | undefined;
  /** The number of repetitions: `few` in a usual run, `many` with `SCROLLBACK_DEEP=1`. */
  rounds(few: number, many: number): number;
  /** Skips the test, with the reason. */
  skip(reason: string): never;
}

/** Injects one fault, checks the promises, and returns a figure for the table. */
export type Fault = (scene: FaultScene) => Promise<string>;

export const CLIENTS = 3;

/** Runs a load through the proxy while the `modes` are set one after another. */
function onTheNetwork(modes: (scene: FaultScene) => readonly ProxyMode[]): Fault {
  return async (scene) => {
    const { proxy, connect } = scene.backend.requireNetwork();
    const strike = async () => {
      for (const mode of modes(scene)) {
        const before = proxy.counters.strikes;
        proxy.set(mode);
        await vi.waitFor(() => expect(proxy.counters.strikes).toBeGreaterThan(before), {
          timeout: 10_000,
          interval: 2,
        });
        if (!("times" in mode)) await sleep("ms" in mode ? mode.ms : 1_500);
        proxy.set({ kind: "pass" });
        await sleep(20 + Math.random() * 40);
      }
    };
    return await scene.underLoad(strike, { clients: Array.from({ length: CLIENTS }, connect) });
  };
}

const repeated = (mode: ProxyMode, few: number, many: number) => (scene: FaultScene) =>
  Array.from({ length: scene.rounds(few, many) }, () => mode);

/** Runs a load on a server while `act` changes its process. */
function onTheServer(act: (server: ServerControl, scene: FaultScene) => Promise<void>): Fault {
  return async (scene) => {
    const { server } = scene;
    if (!server) return scene.skip("there is no server");
    return await scene.underLoad(() => act(server, scene));
  };
}

/** Runs clients in other processes on one thread. Returns what one order of commits explains. */
async function inProcesses(
  { backend }: FaultScene,
  run: (
    start: (client: string, seconds: number, options?: { clockOffsetMs: number }) => RemoteJob,
  ) => Promise<unknown>,
): Promise<readonly Observation[]> {
  const start = backend.requireProcesses();
  const { threadId } = backend.store();
  const task = { threads: [{ threadId }], actions: 1, pauseMs: 5 };
  const observed = await observe(task.threads, backend.driver, (log) =>
    run((client, seconds, options) =>
      start("act", { ...task, seed: `${threadId} ${client}`, clients: [client], seconds, log }, options),
    ),
  );
  await expectExplained(observed);
  return observed.observations.filter(({ action }) => action.kind === "commit");
}

/** Kills a writing process at a random moment, repeatedly; another process continues. */
const killedClients: Fault = async (scene) => {
  const rounds = scene.rounds(8, 200);
  const commits = await inProcesses(scene, async (start) => {
    for (let round = 0; round < rounds; round++) {
      const job = start(`p${round}`, 60);
      await vi.waitFor(() => expect(job.progress.length).toBeGreaterThan(0), {
        timeout: 45_000,
        interval: 1,
      });
      await sleep(Math.random() * 200);
      await job.kill();
    }
  });
  const acknowledged = commits.filter(({ outcome }) => outcome.kind === "committed").length;
  expect(acknowledged, "acknowledged commits").toBeGreaterThan(0);
  return `${rounds} killed, ${acknowledged} commits acknowledged, ${commits.length - acknowledged} not`;
};

const twoSetups: Fault = async (scene) => {
  const drivers = Array.from({ length: 4 }, () => scene.backend.otherDriver());
  const setups = drivers.filter(({ setup }) => setup !== undefined);
  if (setups.length === 0) return scene.skip("there is nothing to set up");
  const { threadId } = scene.backend.store();
  const writers = setups.map((driver, index) =>
    createStores(driver)
      .open(threadId)
      .addMessages([user(`${index}`)]),
  );
  await Promise.all([...setups, ...setups].map((driver) => driver.setup?.()));
  await Promise.all(writers);
  expect((await textsIn(scene.backend.stores().open(threadId))).toSorted()).toEqual(
    setups.map((_, index) => `${index}`),
  );
  return `${2 * setups.length} at once, beside ${writers.length} first writes`;
};

const DAY_MS = 24 * 60 * 60 * 1_000;

const wrongClocks: Fault = async (scene) => {
  const clocks = { behind: -DAY_MS, right: 0, ahead: DAY_MS };
  const seconds = scene.rounds(1, 10);
  const commits = await inProcesses(scene, (start) =>
    Promise.all(
      Object.entries(clocks).map(([name, clockOffsetMs]) => start(name, seconds, { clockOffsetMs }).result),
    ),
  );
  return `${commits.length} commits by clocks a day apart`;
};

const expiryInBetween: Fault = async (scene) => {
  scene.backend.requireExpiry();
  const ttlMs = 1_000;
  const driver = scene.backend.otherDriver();
  const [brief, permanent] = [createStores(driver, { ttlMs }), createStores(driver)];
  const threads = Array.from({ length: scene.rounds(20, 200) }, () => permanent.open());
  const outcomes = await Promise.all(
    // Writes between reads stay, so that a slow read on a busy machine still finds them.
    threads.map(async (store) => {
      const revision = await brief.open(store.threadId).addMessages([user("old")]);
      await sleep(ttlMs - 100 + Math.random() * 120);
      try {
        await store.addMessages([user("new")], { expectedRevision: revision });
        expect(await textsIn(store)).toEqual(["old", "new"]);
        return "in time";
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT")) throw error;
        await store.addMessages([user("new")], { expectedRevision: null });
        expect(await textsIn(store)).toEqual(["new"]);
        return "expired";
      }
    }),
  );
  const expired = outcomes.filter((outcome) => outcome === "expired").length;
  return `${expired} of ${outcomes.length} expired in between, told by CONFLICT`;
};

/** The faults of every backend, by their names in the table. A backend skips faults whose requirements it lacks. */
export const commonFaults: Readonly<Record<string, Fault>> = {
  "connection cut before the request": onTheNetwork(repeated({ kind: "cut-request", times: 1 }, 15, 200)),
  "connection cut inside the request": onTheNetwork((scene) =>
    Array.from({ length: scene.rounds(15, 200) }, (_, round) => ({
      kind: "cut-request" as const,
      afterBytes: 1 + round * 7,
      times: 1,
    })),
  ),
  "connection cut after the request": onTheNetwork(repeated({ kind: "cut-reply", times: 1 }, 15, 200)),
  "connection cut inside the reply": onTheNetwork((scene) =>
    Array.from({ length: scene.rounds(15, 200) }, (_, round) => ({
      kind: "cut-reply" as const,
      afterBytes: 1 + round,
      times: 1,
    })),
  ),
  "reply lost, connection open": onTheNetwork(repeated({ kind: "drop-reply", times: 1 }, 2, 10)),
  "reply later than the timeout": onTheNetwork(repeated({ kind: "delay-reply", ms: 5_500 }, 1, 3)),
  "network gone for a while": onTheNetwork(repeated({ kind: "down" }, 2, 10)),
  "server killed and restarted": onTheServer(async (server, scene) => {
    for (let round = 0; round < scene.rounds(2, 10); round++) {
      await server.kill();
      await sleep(Math.random() * 300);
      await server.start();
      await sleep(300);
    }
  }),
  "server paused and resumed": onTheServer(async (server, scene) => {
    for (let round = 0; round < scene.rounds(1, 4); round++) {
      await server.pause();
      await sleep(2_500);
      await server.unpause();
      await sleep(300);
    }
  }),
  "client killed at a random moment": killedClients,
  "two setups at once": twoSetups,
  "clocks wrong": wrongClocks,
  "expiry between a read and a write": expiryInBetween,
};
