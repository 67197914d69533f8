import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Backend, checkHarness } from "../backend.ts";
import type { ConformanceOptions, Harness, ServerInfo } from "../harness.ts";
import { commonFaults, type Fault, type ServerControl } from "./faults.ts";

declare module "vitest" {
  interface TaskMeta {
    /** On every test of a fault: what the reporter needs to know of it. The figure is known once it was withstood. */
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
   * The server, to be killed and paused. It must be set up so that what it acknowledged survives a kill. Called once the
   * harness is there; absent where there is no server.
   */
  server?(): Promise<ServerControl>;
  /** Faults that this backend alone has, by what the table calls them. */
  readonly faults?: Readonly<Record<string, Fault>>;
}

const TEST_TIMEOUT_MS = process.env.SCROLLBACK_FIRE === "1" ? 1_200_000 : 120_000;
const HARNESS_TIMEOUT_MS = 180_000;

/**
 * Declares a test for each fault, on one backend: breaks connections, servers and clients while others write and read, and
 * checks that nothing which was promised is broken. Every cell of the table comes with a figure. The environment variable
 * `SCROLLBACK_FIRE=1` makes it long: 200 killed clients, hundreds of cut connections.
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
          const figure = await fault({ backend, server: await server?.(), rounds, skip });
          task.meta.fault = { ...meta, figure };
        }
        // What was opened for the fault is closed now. The harness' own client may have connected anew.
        await expect.poll(openSockets, { timeout: 5_000 }).toBeLessThanOrEqual(socketsBefore + 2);
      });
    }
  });
}

const rounds = (few: number, many: number): number => (process.env.SCROLLBACK_FIRE === "1" ? many : few);

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "TCPSocketWrap").length;
}
