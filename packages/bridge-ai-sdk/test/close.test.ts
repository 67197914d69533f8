import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { scriptedModel } from "./scripted-model.ts";
import { serve, until, user } from "./serve.ts";

const slow = () => scriptedModel({ delayMs: 20 });
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");

test("close: stops running answers, or waits for them, and refuses later requests", async () => {
  for (const wait of [false, true]) {
    const server = await serve({ model: slow() });
    const answered = server.post({ id: "c", message: user("q", `say ${words(20)}`) });
    await until(async () => (await server.stored("c"))?.length === 2);
    await server.handler.close({ wait });
    const page = await server.mine.read("c");
    expect(page?.entries.at(-1)?.status).toBe(wait ? "complete" : "stopped");
    await answered;
    const refused = await server.post({ id: "d", message: user("q") });
    expect(refused).toMatchObject({ status: 503, error: "CLOSED" });
    expect(refused.headers.get("retry-after")).toBe("1");
    await server[Symbol.asyncDispose]();
  }
});

test("close: refuses a message whose body is incomplete, and waits for an answer that is about to begin", async () => {
  await using server = await serve();
  const message = JSON.stringify({ id: "c", message: user("q") });
  const closed = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(Buffer.from(message.slice(0, 10)));
      await closed.promise;
      controller.enqueue(Buffer.from(message.slice(10)));
      controller.close();
    },
  });
  const request = new Request("http://a/api/chat", { method: "POST", body, duplex: "half" });
  const answered = server.handler.fetch(request, { owner: "ada" });
  await sleep(20);
  await server.handler.close();
  closed.resolve();
  expect((await answered).status).toBe(503);
  expect(await server.mine.get("c")).toBeUndefined();

  await using other = await serve({ model: slow() });
  const { promise: begins, resolve } = Promise.withResolvers<void>();
  const of = other.chats.of.bind(other.chats);
  other.chats.of = (owner) => {
    const mine = of(owner);
    const begin = mine.begin.bind(mine);
    mine.begin = async (...args) => {
      resolve();
      await sleep(50);
      return await begin(...args);
    };
    return mine;
  };
  const begun = other.post({ id: "d", message: user("q", `say ${words(100)}`) });
  await begins;
  await other.handler.close();
  expect(await other.mine.get("d")).not.toHaveProperty("run");
  expect((await begun).status).toBe(200);
});
