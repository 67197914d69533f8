import { createStores } from "@scrollback/store-core/driver";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Random } from "../../../conformance-tests/src/observed/random.ts";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { ChatStore } from "../src/index.ts";
import { message, storeError } from "./contract/values.ts";

beforeEach(() =>
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: ["Date", "setInterval", "clearInterval"] }),
);
afterEach(() => vi.useRealTimers());

/** A process that makes an answer in a chat, and another one with a clock and a lease of its own. Commits take no time. */
async function simulated(seed: number, clocks: "near" | "any") {
  const random = new Random(`leases ${seed}`);
  const within = (from: number, to: number) => from + random.below(to - from);
  const driver = new KeptDriver();
  const leaseMs = within(300, 60_000);
  const beatMs = Math.floor(leaseMs / within(3, 10));
  const difference = clocks === "near" ? Math.floor(leaseMs / 3) : 10 ** within(2, 9);
  const skew = within(-1e9, 1e9);
  const open = (ahead: number, options: { leaseMs: number; beatMs: number }) =>
    new ChatStore({ stores: createStores(driver), now: () => Date.now() + ahead, ...options }).of("ada");
  const theirs = open(skew + within(-difference, difference), { leaseMs: within(3, 100_000), beatMs: 1 });
  const run = await open(skew, { leaseMs, beatMs }).begin("c", { append: [message("q")] });
  const begin = () => theirs.begin("c", {});
  const stateOf = async () => (await theirs.get("c"))?.run?.state;
  return { within, leaseMs, run, begin, stateOf };
}

const seeds = Array.from({ length: 60 }, (_, index) => index + 1);

test("no process takes over a live run if the clocks differ by less than a third of its lease", async () => {
  for (const seed of seeds) {
    const { within, leaseMs, run, begin, stateOf } = await simulated(seed, "near");
    for (let step = 0; step < 6; step++) {
      await vi.advanceTimersByTimeAsync(within(0, 2 * leaseMs));
      if (within(0, 2) === 1) run.update(message(run.messageId, "assistant", `${step}`));
      expect(await stateOf(), `seed ${seed}`).toBe("running");
      await expect(begin(), `seed ${seed}`).rejects.toMatchObject(storeError("CONFLICT", /under way/));
    }
    await run.end({ status: "stopped" });
  }
});

test("a run whose process died holds its chat for less than 2 leases, whatever the clocks say", async () => {
  for (const seed of seeds) {
    const { within, leaseMs, begin, stateOf } = await simulated(seed, "any");
    await vi.advanceTimersByTimeAsync(within(0, 3 * leaseMs));
    vi.clearAllTimers();
    // The whole difference of the clocks passes, in steps of 2 leases at 8 places.
    for (let step = 0; step < 8; step++) {
      const before = await stateOf();
      vi.setSystemTime(Date.now() + 2 * leaseMs);
      if (before === "running") expect(await stateOf(), `seed ${seed}`).toBe("lost");
      else vi.setSystemTime(Date.now() + 10 ** within(2, 9));
    }
    if ((await stateOf()) === "running") vi.setSystemTime(Date.now() + 2 * leaseMs);
    await (await begin()).end({ status: "stopped" });
  }
});

test("a run renews its lease at the next beat after its clock was set back or ahead", async () => {
  const chats = new ChatStore({ stores: createStores(new KeptDriver()), leaseMs: 15_000, beatMs: 2_000 });
  const mine = chats.of("ada");
  const run = await mine.begin("c", { append: [message("q")] });
  for (const ms of [-3_600_000, 3_600_000]) {
    vi.setSystemTime(Date.now() + ms);
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await mine.get("c"))?.run?.state).toBe("running");
  }
  await run.end({ status: "stopped" });
});
