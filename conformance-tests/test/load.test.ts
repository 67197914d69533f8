import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { formatLoad, underLoad } from "../src/faults/load.ts";
import { wrapDriver } from "../src/wrapped-driver.ts";

const outage = () => new StoreError("UNAVAILABLE", "gone for a while", { retryable: true });

/** A load on memory whose clients are broken in some way during the fault. */
async function load(broken: (sound: Driver, isUnderFire: () => boolean) => Partial<Driver>) {
  const sound = new MemoryDriver();
  let isUnderFire = false;
  const clients = Array.from({ length: 3 }, () =>
    wrapDriver(
      sound,
      broken(sound, () => isUnderFire),
    ),
  );
  const fault = async () => {
    isUnderFire = true;
    await sleep(150);
    isUnderFire = false;
  };
  return await underLoad(fault, { clients, sound });
}

describe("a load", () => {
  test("passes on a correct backend, and returns its measurements", async () => {
    const figure = await load(() => ({}));
    expect(figure).toMatchObject({ failed: 0, lost: 0 });
    expect(figure.commits).toBeGreaterThan(20);
    expect(formatLoad(figure)).toMatch(/^\d+ commits, longest call \d\.\d s, back in \d\.\d s$/);
  });

  test("passes if outages fail with UNAVAILABLE, with the commit applied or not", async () => {
    const figure = await load((sound, isUnderFire) => ({
      async commit(request) {
        const chance = isUnderFire() ? Math.random() : 1;
        if (chance < 0.1) throw outage();
        const outcome = await sound.commit(request);
        if (chance < 0.2) throw outage();
        return outcome;
      },
      classifyError: () => ({ code: "UNAVAILABLE", message: "gone for a while", retryable: true }),
    }));
    expect(figure.lost).toBe(0);
  });

  const broken: Record<string, [(sound: Driver, isUnderFire: () => boolean) => Partial<Driver>, RegExp]> = {
    "acknowledges lost commits": [
      (sound, isUnderFire) => ({
        commit: (request) =>
          isUnderFire()
            ? Promise.resolve({ outcome: "committed", revision: "0000000000000000.1" })
            : sound.commit(request),
      }),
      /not in it|not there/,
    ],
    "forgets operation ids": [
      (sound, isUnderFire) => ({
        async commit(request) {
          const outcome = await sound.commit(request);
          if (isUnderFire()) await sound.commit({ ...request, operationId: crypto.randomUUID() });
          return outcome;
        },
      }),
      /none doubled/,
    ],
    "applies half of a commit": [
      (sound, isUnderFire) => ({
        commit: (request) =>
          sound.commit(isUnderFire() ? { ...request, append: request.append.slice(0, 2) } : request),
      }),
      /the batch at/,
    ],
    "reads nothing in an outage": [
      (sound, isUnderFire) => ({
        read: (request) => sound.read(isUnderFire() ? { ...request, threadId: "nothing" } : request),
      }),
      /extends the one before/,
    ],
    "reports an outage as permanent": [
      (sound, isUnderFire) => ({
        commit: (request) =>
          isUnderFire()
            ? Promise.reject(new StoreError("UNAVAILABLE", "gone", { retryable: false }))
            : sound.commit(request),
      }),
      /retryable/,
    ],
  };

  test.each(Object.keys(broken))("fails a backend that %s", async (name) => {
    const [instead, message] = broken[name] as (typeof broken)[string];
    await expect(load(instead)).rejects.toThrow(message);
  });
});
