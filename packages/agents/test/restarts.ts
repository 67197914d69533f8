import type { StoreFactory } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { AgentGroupChat } from "../src/group-chat/index.ts";
import { ChatAgent } from "../src/index.ts";
import { actor, dialogue, user } from "./group-chat/cast.ts";
import { asked, lines, scripted, weatherCall, weatherTools } from "./models.ts";

/** Declares a conversation over several processes: each turn has a client, an agent and a thread object of its own. */
export function declareRestarts(backend: string, open: () => Promise<StoreFactory>): void {
  test(`a conversation over several processes on ${backend} continues, with nothing lost or duplicated`, async () => {
    await using first = await open();
    await first.setup();
    const turn = async (state: unknown, input: string, ...answers: Parameters<typeof scripted>) => {
      await using stores = await open();
      const model = scripted(...answers);
      const agent = new ChatAgent({ model, stores, tools: weatherTools().tools });
      const thread = state === undefined ? agent.getNewThread() : await agent.deserializeThread(state);
      const failed = await agent.run(input, { thread }).then(
        () => undefined,
        (error: unknown) => error,
      );
      const stored = lines((await thread.messageStore?.listMessages()) ?? []);
      return {
        failed,
        stored,
        asked: asked(model),
        state: JSON.parse(JSON.stringify(await thread.serialize())),
      };
    };
    const warm = [
      "user: How warm?",
      "assistant: [tool-call]",
      "tool: [tool-result]",
      "assistant: 21 degrees.",
    ];
    const one = await turn(undefined, "How warm?", weatherCall("Ghent"), "21 degrees.");
    expect(one.stored).toEqual(warm);
    const dying = await turn(one.state, "And in Bruges?", { error: new Error("the process dies") });
    expect(dying.failed).toBeDefined();
    const two = await turn(one.state, "And in Bruges?", "20 degrees.");
    expect(two.asked).toEqual([...warm, "user: And in Bruges?"]);
    const three = await turn(two.state, "Thanks", "You're welcome.");
    expect(three.stored).toEqual([
      ...[...warm, "user: And in Bruges?", "assistant: 20 degrees."],
      ...["user: Thanks", "assistant: You're welcome."],
    ]);
  });

  test(`a group chat on ${backend} continues in another process, after one died in a turn`, async () => {
    await using first = await open();
    await first.setup();
    const inProcess = async (act: (chat: AgentGroupChat) => Promise<unknown>, writes?: { error: Error }) => {
      await using stores = await open();
      const agents = [actor("Planner"), actor("Writer", writes && [writes])];
      return await act(new AgentGroupChat({ agents, store: stores.open("group"), maximumIterations: 2 }));
    };
    const invoke = async (chat: AgentGroupChat) => {
      for await (const _ of chat.invoke()) {
      }
    };
    await inProcess(
      async (chat) => {
        await chat.addMessages([user("A slogan?")]);
        await expect(invoke(chat)).rejects.toThrow("the process dies");
      },
      { error: new Error("the process dies") },
    );
    await inProcess(invoke);
    expect(await inProcess(async (chat) => dialogue(await chat.getMessages()))).toEqual([
      "Planner: Planner 1",
      "Writer: Writer 1",
      "Planner: Planner 1",
      "user: A slogan?",
    ]);
  });
}
