import { createOpenAI } from "@ai-sdk/openai";
import { expect, test } from "vitest";
import { ChatAgent, openaiResponses } from "../src/index.ts";
import { partsOf } from "./models.ts";

interface Request {
  readonly previous_response_id?: string;
  readonly input: readonly unknown[];
  readonly stream?: boolean;
}

const requests: Request[] = [];
const known = new Map<string, number>();

/** The part of OpenAI's Responses API that a conversation needs: it answers with the number of inputs so far. */
const fetch: typeof globalThis.fetch = async (_, init) => {
  const request: Request = JSON.parse(String(init?.body));
  const { previous_response_id: previous, input, stream } = request;
  const id = `resp_${requests.push(request)}`;
  known.set(id, (known.get(previous ?? "") ?? 0) + input.length);
  const content = [{ type: "output_text", text: `I know ${known.get(id)} inputs.`, annotations: [] }];
  const message = { type: "message", id: `msg_${id}`, role: "assistant", content };
  const details = {
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const usage = { input_tokens: 1, output_tokens: 1, ...details };
  const answer = { id, created_at: 1, model: "gpt", output: [message], usage, incomplete_details: null };
  if (!stream) return Response.json(answer);
  const place = { output_index: 0 };
  const events = [
    { type: "response.created", response: { id, created_at: 1, model: "gpt" } },
    { type: "response.output_item.added", ...place, item: { ...message, content: [] } },
    { type: "response.output_text.delta", ...place, item_id: message.id, delta: content[0]?.text },
    { type: "response.output_item.done", ...place, item: message },
    { type: "response.completed", response: answer },
  ];
  const lines = [...events.map((event) => JSON.stringify(event)), "[DONE]"].map(
    (line) => `data: ${line}\n\n`,
  );
  return new Response(lines.join(""), { headers: { "Content-Type": "text/event-stream" } });
};

test("a thread stored by OpenAI continues by its id, streaming or not, and after a restart", async () => {
  const openai = createOpenAI({ apiKey: "sk-test", fetch });
  const agent = new ChatAgent({ model: openai("gpt-5"), serviceThread: openaiResponses });
  const thread = agent.getNewThread();
  expect((await agent.run("one", { thread })).text).toBe("I know 1 inputs.");
  const parts = await partsOf(agent.runStream("two", { thread }));
  expect(parts.find((part) => part.type === "text-delta")).toMatchObject({ text: "I know 2 inputs." });
  const resumed = await agent.deserializeThread(JSON.parse(JSON.stringify(await thread.serialize())));
  expect((await agent.run("three", { thread: resumed })).text).toBe("I know 3 inputs.");
  expect(resumed.serviceThreadId).toBe("resp_3");
  expect(requests.map(({ previous_response_id, input }) => [previous_response_id, input.length])).toEqual([
    [undefined, 1],
    ["resp_1", 1],
    ["resp_2", 1],
  ]);
});
