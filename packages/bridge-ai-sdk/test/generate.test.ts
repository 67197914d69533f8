import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { serve } from "./serve.ts";
import { openTab } from "./ui-client.ts";

test("generate returns chunks: the answer has the run's id, also without a start chunk", async () => {
  await using server = await serve({
    generate: () =>
      ReadableStream.from([
        { type: "text-start" as const, id: "1" },
        { type: "text-delta" as const, id: "1", delta: "own" },
        { type: "text-end" as const, id: "1" },
      ]),
    generateMessageId: () => "made",
  });
  const tab = openTab(server.url, "c");
  await tab.sendMessage({ text: "q" });
  expect(tab.lastMessage).toMatchObject({ id: "made", parts: [{ type: "text", text: "own" }] });
  expect(await server.stored("c")).toEqual(tab.plain);
});

test("generate: a broken stream, or one with chunks out of order, ends with an error", async () => {
  const errors = [
    () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: "so far" });
        },
        async pull(controller) {
          await sleep(20);
          controller.error(new Error("secret: broken"));
        },
      }),
    () => ReadableStream.from([{ type: "text-delta" as const, id: "none", delta: "x" }]),
  ];
  for (const generate of errors) {
    await using server = await serve({ generate: generate as never });
    const tab = openTab(server.url, "c");
    await tab.sendMessage({ text: "q" });
    expect(tab.error).toBeDefined();
    // The client itself finds that chunks are out of order, before the run has ended.
    await expect.poll(async () => (await server.mine.get("c"))?.run).toBeUndefined();
    expect(server.errors).toHaveLength(1);
    expect(JSON.stringify(tab.messages)).not.toContain("secret");
  }
});

test("generate: a model that ends its text after its own abort is stopped, not failed", async () => {
  await using server = await serve({
    generate: ({ signal }) =>
      new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: "so far" });
          signal.addEventListener("abort", () => {
            controller.enqueue({ type: "abort" });
            controller.enqueue({ type: "text-end", id: "1" });
            controller.close();
          });
        },
      }),
  });
  const tab = openTab(server.url, "c");
  const sent = tab.sendMessage({ text: "q" });
  await expect.poll(async () => (await server.mine.get("c"))?.run?.state).toBe("running");
  await server.mine.stop("c");
  await sent;
  const page = await server.mine.read("c");
  expect(page?.entries.at(-1)).toMatchObject({ status: "stopped" });
  expect(server.errors).toEqual([]);
  expect(tab.error).toBeUndefined();
});
