import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Backend, checkHarness } from "../backend.ts";
import type { ConformanceOptions, Harness, ServerInfo } from "../harness.ts";
import { CLIENTS, commonFaults, type Fault, type ServerControl } from "./faults.ts";
import { type LoadOptions, underLoad } from "./load.ts";

declare module "vitest" {
  interface TaskMeta {
    /** The reporter's data of every fault test. The figure is set when the test has passed. */
    fault?: {
      readonly title: string;
      readonly backend: string;
      readonly server?: ServerInfo;
      readonly figure?: string;
    };
  }
}

/** The options of {@link runFaults}. */
export interface FaultOptions extends ConformanceOptions {
  /**
   * The server, to be killed and paused. It must be set up so that acknowledged writes survive a kill. Called after the
   * harness was created; absent for a backend without a server.
   */
  server?(): Promise<ServerControl>;
  /** Additional faults of this backend, by their names in the table. */
  readonly faults?: Readonly<Record<string, Fault>>;
}

const TEST_TIMEOUT_MS = process.env.SCROLLBACK_DEEP === "1" ? 1_200_000 : 120_000;
const HARNESS_TIMEOUT_MS = 180_000;

/**
 * Declares a test for each fault, on one backend: breaks connections, servers and clients while others write and read, and
 * checks the promises. Every cell of the table has a figure. With the environment variable `SCROLLBACK_DEEP=1` the run is
 * long: 200 killed clients, hundreds of cut connections.
 *
 * @example
 * runFaults({ name: "Redis", createHarness, server: async () => server });
 */
export function runFaults({ name, createHarness, server, faults = {} }: FaultOptions): void {
  describe(`${name} under fire`, { timeout: TEST_TIMEOUT_MS }, () => {
    let harness: Harness | undefined;
    beforeAll(async () => {
      harness = await createHarness();
      checkHarness(harness);
    }, HARNESS_TIMEOUT_MS);
    afterAll(() => harness?.close(), HARNESS_TIMEOUT_MS);
    for (const [title, fault] of Object.entries({ ...commonFaults, ...faults })) {
      test(title, { meta: { fault: { title, backend: name } } }, async ({ task, skip }) => {
        if (!harness) throw new Error("createHarness failed");
        const meta = { title, backend: name, server: harness.server };
        task.meta.fault = meta;
        const socketsBefore = openSockets();
        {
          await using backend = new Backend(harness, { skip, createHarness });
          const load = (during: () => Promise<void>, options: Partial<LoadOptions> = {}) => {
            const clients = options.clients ?? Array.from({ length: CLIENTS }, () => backend.otherDriver());
            return underLoad(during, { sound: backend.driver, ...options, clients });
          };
          const figure = await fault({
            ...{ backend, rounds, skip, underLoad: load },
            server: await server?.(),
          });
          task.meta.fault = { ...meta, figure };
        }
        // Everything that was opened for the fault is closed now. The harness' own client may have reconnected.
        await vi.waitFor(() => expect(openSockets()).toBeLessThanOrEqual(socketsBefore + 2), {
          timeout: 5_000,
        });
      });
    }
  });
}

const rounds = (few: number, many: number): number => (process.env.SCROLLBACK_DEEP === "1" ? many : few);

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "TCPSocketWrap").length;
}
