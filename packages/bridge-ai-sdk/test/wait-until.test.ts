import { ChatStore } from "@scrollback/chats";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { rejection } from "../../../conformance-tests/src/checks/errors.ts";
import { uiMessages } from "../src/index.ts";
import { scriptedModel } from "./scripted-model.ts";
import { serve, user } from "./serve.ts";

const post = (message: unknown) =>
  new Request("http://a/api/chat", { method: "POST", body: JSON.stringify({ id: "c", message }) });

test("waitUntil gets the work of a request whose reader leaves: the answer, its title, and the order of lists", async () => {
  await using server = await serve({
    model: scriptedModel({ delayMs: 5 }),
    title: async () => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return "Words";
    },
  });
  const works: Promise<void>[] = [];
  const context = { owner: "ada", waitUntil: (work: Promise<void>) => void works.push(work) };
  const response = await server.handler.fetch(post(user("q", "say one two three four five six")), context);
  await response.body?.cancel();
  expect(works).toHaveLength(1);
  await works[0];
  // As another process finds it: a list of this process would first write what waits.
  const others = new ChatStore<UIMessage>({ stores: server.stores, ...uiMessages() }).of("ada");
  const { chats } = await others.list();
  expect(chats[0]).toMatchObject({ title: "Words", messageCount: 2 });
  expect((await others.read("c"))?.entries.at(-1)?.status).toBe("complete");

  await server.mine.append("c", [user("q2", "three") as UIMessage]);
  await server.handler.resume("c", context);
  expect(works).toHaveLength(2);
  await works[1];
  expect((await others.list()).chats[0]?.messageCount).toBe(3);
});

test("waitUntil waits for no other request: a model that hangs keeps none of them", async () => {
  await using server = await serve({
    generate: ({ signal }) =>
      new ReadableStream({
        start(controller) {
          signal.addEventListener("abort", () => controller.close());
        },
      }),
  });
  await server.handler.fetch(post(user("q", "hang")), { owner: "ada" });
  const works: Promise<void>[] = [];
  const context = { owner: "bob", waitUntil: (work: Promise<void>) => void works.push(work) };
  await server.handler.fetch(new Request("http://a/api/chats"), context);
  await server.chats.of("bob").create({ id: "b" });
  await server.handler.resume("b", context);
  await Promise.all(works);
  expect((await server.mine.get("c"))?.run?.state).toBe("running");
  await server.mine.stop("c");
});

test("a waitUntil that throws, or that is no function", async () => {
  await using server = await serve();
  const problem = new Error("the request has ended");
  const waitUntil = () => {
    throw problem;
  };
  expect((await server.handler.resume("c", { owner: "ada", waitUntil })).status).toBe(204);
  expect(server.errors).toEqual([problem]);
  const later = async () => {
    await Promise.resolve();
    throw problem;
  };
  await server.handler.resume("c", { owner: "ada", waitUntil: later });
  await expect.poll(() => server.errors).toEqual([problem, problem]);
  const wrong = { owner: "ada", waitUntil: "soon" as never };
  await rejection(server.handler.resume("c", wrong), "INVALID_ARGUMENT");
});
