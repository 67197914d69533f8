import { expect, test } from "vitest";
import { createMemoryStores } from "../src/index.ts";

const text = (content: string) => ({ role: "user" as const, content });

test("a copy has the ttlMs of the call, otherwise that of the target's settings", async () => {
  await using source = createMemoryStores();
  await using target = createMemoryStores({ ttlMs: 1_000_000 });
  await source.open("a").addMessages([text("x")]);
  await source.copyThread("a", "by-settings", { target });
  await source.copyThread("a", "by-call", { target, ttlMs: 50_000_000 });
  const left = async (id: string) => ((await target.open(id).read()).expiresAt ?? 0) - Date.now();
  expect(Math.abs((await left("by-settings")) - 1_000_000)).toBeLessThan(10_000);
  expect(Math.abs((await left("by-call")) - 50_000_000)).toBeLessThan(10_000);
  await expect(source.copyThread("a", "b", { ttlMs: 0 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a long copy yields to the event loop, so it can be aborted", async () => {
  await using stores = createMemoryStores();
  await stores.open("long").addMessages(Array.from({ length: 20_000 }, (_, index) => text(`${index}`)));
  const controller = new AbortController();
  setImmediate(() => controller.abort());
  const copying = stores.copyThread("long", "copy", { signal: controller.signal });
  await expect(copying).rejects.toMatchObject({ code: "ABORTED" });
  expect(await stores.copyThread("long", "copy")).toMatchObject({ copied: expect.any(Number) });
  expect((await stores.open("copy").read({ limit: 0 })).count).toBe(20_000);
});

test.each([1, 1_200])("a deleted copy of %i messages is made again", async (count) => {
  await using stores = createMemoryStores();
  await stores
    .open("a")
    .commit({ append: Array.from({ length: count }, (_, n) => text(`${n}`)), metadata: { title: "A" } });
  for (let round = 0; round < 3; round++) {
    expect(await stores.copyThread("a", "b")).toMatchObject({ copied: count });
    const { metadata, count: copied } = await stores.open("b").read({ limit: 0 });
    expect({ metadata, copied }).toEqual({ metadata: { title: "A" }, copied: count });
    await stores.deleteThread("b");
  }
});

test("a thread written in place of a deleted copy is not mistaken for the copy", async () => {
  await using stores = createMemoryStores();
  await stores.open("a").addMessages([text("a")]);
  await stores.copyThread("a", "b");
  expect(await stores.copyThread("a", "b")).toMatchObject({ copied: 0 });
  await stores.deleteThread("b");
  await stores.open("b").addMessages([text("other")]);
  await expect(stores.copyThread("a", "b")).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await stores.open("b").listMessages()).toEqual([text("other")]);
});

test("a copy whose target is deleted or written during it fails with CONFLICT and the reason", async () => {
  await using stores = createMemoryStores();
  await stores.open("long").addMessages(Array.from({ length: 2_000 }, (_, index) => text(`${index}`)));
  let change: Promise<unknown> | undefined;
  const deleted = stores.copyThread("long", "copy", {
    onProgress: () => {
      change ??= stores.deleteThread("copy");
    },
  });
  await expect(deleted).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining("the target was deleted or has expired during the copy"),
  });
  change = undefined;
  const written = stores.copyThread("long", "copy", {
    onProgress: () => {
      change ??= stores.open("copy").addMessages([text("of another origin")]);
    },
  });
  const foreign = { code: "CONFLICT", message: expect.stringMatching(/^copyThread: the target has content/) };
  await expect(written).rejects.toMatchObject(foreign);
  await change;
  await expect(stores.copyThread("long", "copy"), "unfinished").rejects.toMatchObject(foreign);
  await stores.open("other").addMessages([text("other")]);
  await expect(stores.copyThread("long", "other"), "a live thread").rejects.toMatchObject(foreign);
});
