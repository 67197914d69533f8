import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { AgentGroupChat, type ChatParticipant } from "../../src/group-chat/index.ts";
import { ChatAgent } from "../../src/index.ts";
import { failureOf, scripted, weatherCall, weatherTools } from "../models.ts";
import { actor, dialogue, listen, take, told, user, watch } from "./cast.ts";

describe("streaming", () => {
  test("yields pieces with their agent, then the message; the history is updated when the stream ends", async () => {
    const store = createMemoryStores().open("t");
    const writer = new ChatAgent({ model: scripted("A fine bicycle."), name: "Writer" });
    const chat = new AgentGroupChat({ agents: [writer, actor("B")], maximumIterations: 2, store });
    await chat.addMessages([user("Hi")]);
    const seen: string[] = [];
    for await (const part of chat.invokeStream()) {
      seen.push(
        part.type === "message" ? (dialogue([part.message])[0] ?? "") : `${part.authorName}~ ${part.text}`,
      );
      if (part.type === "text-delta" && part.authorName === "Writer")
        expect(await store.listMessages()).toHaveLength(1);
      if (part.type === "message") expect((await store.listMessages()).at(-1)).toEqual(part.message);
    }
    expect(seen).toEqual([
      "Writer~ A ",
      "Writer~ fine ",
      "Writer~ bicycle.",
      "Writer: A fine bicycle.",
      "B~ B 1",
      "B: B 1",
    ]);
    expect(await told(chat)).toEqual(["user: Hi", "Writer: A fine bicycle.", "B: B 1"]);
  });

  test("a custom participant can stream", async () => {
    const own = actor("Own", [], {
      async *invokeStream() {
        yield { type: "text-delta", text: "Hel" };
        yield { type: "text-delta", text: "lo" };
        yield { type: "message", message: { role: "assistant", content: "Hello" } };
      },
    });
    const chat = new AgentGroupChat({ agents: [own] });
    expect(await watch(chat.invokeStream())).toEqual(["Own~ Hel", "Own~ lo", "Own: Hello"]);
    expect(await told(chat)).toEqual(["Own: Hello"]);
  });

  test("a stream that its reader ends early adds no message, and stops the model", async () => {
    const model = scripted("A fine bicycle.", "Again.");
    const writer = new ChatAgent({ model, name: "Writer" });
    const chat = new AgentGroupChat({ agents: [writer, actor("B")] });
    await chat.addMessages([user("Hi")]);
    await take(chat.invokeStream(), 2);
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
    expect(await told(chat)).toEqual(["user: Hi"]);
    expect(await watch(chat.invokeStream())).toEqual(["Writer~ Again.", "Writer: Again."]);
    expect(await told(chat, writer)).toEqual(["user: Hi", "Writer: Again."]);
  });

  test("ends with the same history as without streaming, tools included", async () => {
    const histories = [];
    for (const way of ["invoke", "invokeStream"] as const) {
      const model = scripted(weatherCall("Ghent"), "Warm.");
      const chat = new AgentGroupChat({
        agents: [new ChatAgent({ model, name: "W", tools: weatherTools().tools }), actor("B")],
        maximumIterations: 2,
      });
      await chat.addMessages([user("Hi")]);
      const visible = [];
      for await (const part of chat[way]()) {
        if ("message" in part) visible.push(...dialogue([part.message]));
        else if (!("type" in part)) visible.push(...dialogue([part]));
      }
      expect(visible).toEqual(["W: Warm.", "B: B 1"]);
      histories.push((await chat.getMessages()).map(({ id: _id, ...message }) => message));
    }
    expect(histories[0]).toEqual(histories[1]);
    expect(histories[0]).toHaveLength(5);
  });
});

describe("cancellation", () => {
  test.each(["invoke", "invokeStream"] as const)(
    "%s rejects with ABORTED at once, also while an agent hangs",
    async (way) => {
      const hanging: ChatParticipant = {
        id: "h",
        async *invoke() {
          yield { role: "assistant", content: "first" };
          await new Promise(() => {});
        },
      };
      const chat = new AgentGroupChat({ agents: [hanging, actor("B")] });
      const error = await failureOf(watchAny(chat[way](undefined, { signal: AbortSignal.timeout(30) })));
      expect(StoreError.is(error, "ABORTED")).toBe(true);
      expect(await told(chat)).toEqual(way === "invoke" ? ["h: first"] : []);
      expect(await listen(chat.invoke(chat.agents[1]))).toEqual(["B: B 1"]);
    },
  );
});

async function watchAny(parts: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of parts) {
  }
}
