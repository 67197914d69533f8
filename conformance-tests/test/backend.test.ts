import type { DriverCapabilities } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { checkHarness } from "../src/backend.ts";
import type { Harness } from "../src/harness.ts";
import { wrapDriver } from "../src/wrapped-driver.ts";
import { memoryHarness } from "./memory-harness.ts";

async function harnessWith(capabilities: Partial<DriverCapabilities>, parts: Partial<Harness> = {}) {
  const harness = await memoryHarness();
  const changed = { ...harness.driver.capabilities, ...capabilities };
  return { ...harness, ...parts, driver: wrapDriver(harness.driver, { capabilities: changed }) };
}

test("a harness without what its driver's capabilities require is refused", async () => {
  const { driver } = await memoryHarness();
  const connect = () => driver;
  const childProcess = { module: new URL(import.meta.url), data: null };
  const roundTrips = { commit: 1, read: 1 };
  checkHarness(await harnessWith({}));
  checkHarness(await harnessWith({ sharing: "network" }, { connect, childProcess }));
  checkHarness(await harnessWith({ roundTrips }, { requestCount: () => 0 }));
  for (const [part, harness] of [
    ["connect", await harnessWith({ sharing: "machine" }, { childProcess })],
    ["childProcess", await harnessWith({ sharing: "machine" }, { connect })],
    ["requestCount", await harnessWith({ roundTrips })],
  ] as const) {
    expect(() => checkHarness(harness)).toThrow(`harness.${part} is required`);
  }
});
