import { setTimeout as sleep } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { expect, vi } from "vitest";
import { allOf, content, ownIndex } from "../checks/entries.ts";
import { rejection } from "../checks/errors.ts";
import type { Clause } from "../clause.ts";

const at = (key: string, id = "1") => ({ key, id });

/** Tests of an index of 10,000 entries (in the deep plan; else 1,000), of processes that die, and of connections that break. */
export const indexFaults: Clause["declare"] = (test) => {
  test("a page of a long index, from both ends", async (backend) => {
    const index = ownIndex(backend);
    const count = process.env.SCROLLBACK_DEEP === "1" ? 10_000 : 1_000;
    for (let start = 0; start < count; start += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, offset) => {
          const order = (start + offset) % 100;
          return index.insert(at(String(start + offset).padStart(5, "0")), content({ order }));
        }),
      );
    const up = await allOf(index);
    expect(up).toHaveLength(count);
    expect(
      up.every(
        ({ order, key }, at) => at === 0 || order > (up[at - 1]?.order ?? 0) || key > (up[at - 1]?.key ?? ""),
      ),
    ).toBe(true);
    const { entries } = await index.list({ direction: "down", limit: 30 });
    expect(entries).toEqual(up.slice(-30).reverse());
  });

  test("a process that is killed leaves whole entries, and all that it had acknowledged", async (backend) => {
    const index = ownIndex(backend);
    const client = backend.requireProcesses()("keep", { index: index.name, times: 100_000 });
    await vi.waitFor(() => expect(client.progress.length).toBeGreaterThan(20), {
      timeout: 45_000,
      interval: 2,
    });
    await client.kill();
    await sleep(100);
    const entries = await allOf(index);
    const found = new Map(entries.map(({ key, version, value }) => [key, { version, value }]));
    for (const done of client.progress) {
      const [key = "", version] = done.split("/");
      expect(found.get(key)?.version, key).toBeGreaterThanOrEqual(Number(version));
    }
    for (const { version, value } of found.values()) expect(value).toBe(`version ${version}`);
  });

  test("an insert whose reply is lost is not repeated; other calls are, and take effect once", async (backend) => {
    const { name } = ownIndex(backend);
    const { proxy, connect } = backend.requireNetwork();
    const index = createStores(connect()).index(name);
    await index.insert(at("first"), content());
    proxy.set({ kind: "cut-reply", times: 1 });
    await rejection(index.insert(at("a"), content({ value: "a" })), "UNAVAILABLE");
    expect(await index.entriesOf("a")).toMatchObject([{ value: "a" }]);
    await index.remove(at("a"));
    await sleep(1_000);
    expect(await index.entriesOf("a")).toEqual([]);
    await index.insert(at("a"), content());
    proxy.set({ kind: "cut-reply", times: 1 });
    // The repeated update meets its own version.
    expect([0, 1]).toContain(await index.update(at("a"), content({ version: 1, value: "b" })));
    proxy.set({ kind: "cut-reply", times: 1 });
    expect(await index.list()).toMatchObject({ entries: [{ key: "a", value: "b" }, { key: "first" }] });
    proxy.set({ kind: "cut-reply", times: 1 });
    await index.remove(at("a"));
    expect(await index.entriesOf("a")).toEqual([]);
  });
};
