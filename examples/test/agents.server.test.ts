import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { test as base, describe, expect } from "vitest";

const run = promisify(execFile);
const folderOf = join(import.meta.dirname, "../agents");

interface Place {
  readonly temp: string;
  /** The output of a program in a process in that folder. Tests must not use the keys of the machine's environment. */
  readonly example: (name: string, args?: string[], env?: Record<string, string>) => Promise<string>;
}

// Concurrent, because each test runs processes one after the other.
const test = base.extend<Place>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern.
  temp: async ({}, use) => {
    const temp = await mkdtemp(join(tmpdir(), "scrollback-agents-examples-"));
    await use(temp);
    await rm(temp, { recursive: true });
  },
  example: async ({ temp }, use) => {
    await use(async (name, args = [], env = {}) => {
      const { AI_GATEWAY_API_KEY: _gateway, OPENAI_API_KEY: _openai, MODEL: _model, ...rest } = process.env;
      const program = join(folderOf, `${name}.ts`);
      const { stdout, stderr } = await run(process.execPath, [program, ...args], {
        cwd: temp,
        env: { ...rest, ...env },
      });
      expect(stderr).toBe("");
      return stdout;
    });
  },
}).concurrent;

describe("an agent with memory across restarts", () => {
  const conversation = async ({ temp, example }: Place, args: string[] = []) => {
    expect(await example("memory", [...args, "Which day is it?"])).toBe("I see.\n");
    expect(await example("memory", [...args])).toBe("I do not know your name.\n");
    expect(await example("memory", [...args, "Hello, my name is Alice"])).toBe(
      "Pleased to meet you, Alice.\n",
    );
    expect(await example("memory", [...args, "What is my name?"])).toBe("Your name is Alice.\n");
    const state = await readFile(join(temp, "thread.json"), "utf8");
    expect(state).not.toContain("Alice");
    expect(await example("memory", [...args, "--new", "What is my name?"])).toBe("Your name is Alice.\n");
    expect(await readFile(join(temp, "thread.json"), "utf8")).not.toBe(state);
  };

  test("on SQLite by default", async ({ temp, example }) => {
    await conversation({ temp, example });
    expect(await readdir(temp)).toContain("chats.db");
  });

  test("on any given URL", async ({ temp, example }) => {
    const { url } = await sharedServer("redis");
    await conversation({ temp, example }, ["--store", url]);
    expect(await readdir(temp)).toEqual(["thread.json"]);
  });

  test("with a real provider when its key is set", async ({ example }) => {
    const asked: string[] = [];
    // Implements the part of OpenAI's Responses API that the example uses.
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request.setEncoding("utf8")) text += chunk;
      const { input, stream, model } = JSON.parse(text);
      asked.push(`${request.url} ${model} ${JSON.stringify(input)}`);
      const content = [{ type: "output_text", text: "Alice is 30.", annotations: [] }];
      const message = { type: "message", id: "m", role: "assistant", content };
      const usage = { input_tokens: 1, output_tokens: 1 };
      const answer = { id: "r", created_at: 1, model, output: [message], usage };
      if (!stream) {
        response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
        return;
      }
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const event of [
        { type: "response.created", response: answer },
        { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
        { type: "response.output_text.delta", item_id: "m", output_index: 0, delta: "Hello, " },
        { type: "response.output_text.delta", item_id: "m", output_index: 0, delta: "Alice." },
        { type: "response.output_item.done", output_index: 0, item: message },
        { type: "response.completed", response: answer },
      ]) {
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      }
      response.end("data: [DONE]\n\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const env = {
      OPENAI_API_KEY: "sk-test",
      OPENAI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      MODEL: "gpt-5",
    };
    expect(await example("memory", ["I am Alice, and 30"], env)).toBe("Hello, Alice.\n");
    expect(await example("memory", ["--new", "Who am I?"], env)).toBe("Hello, Alice.\n");
    expect(asked[0]).toContain("/v1/responses gpt-5");
    expect(asked[2], "a new thread knows the facts that the model extracted").toContain("Alice is 30.");
    server.close();
    server.closeAllConnections();
  });
});

test("a custom context provider asks for facts, keeps them, and is restored with its thread", async ({
  example,
}) => {
  expect(await example("context-provider")).toBe(
    [
      "user: What is two and two?",
      "agent: What is your name?",
      "user: I am Alice",
      "agent: It is four, Alice.",
      "restored: It is four, Alice.",
      "another thread: What is your name?",
      "",
    ].join("\n"),
  );
});

test("a custom store needs four methods", async ({ temp, example }) => {
  expect(await example("own-store")).toBe("Your name is Alice.\n4 messages in the file\n");
  expect((await readFile(join(temp, "conversation.jsonl"), "utf8")).split("\n")).toHaveLength(5);
});

test("a writer and a reviewer agree in a nested chat, and both chats continue after restarts", async ({
  example,
}) => {
  const said = (topic: string) => [
    `Studio     APPROVED: "The ${topic}. Just go."`,
    `Publisher  Published: The ${topic}. Just go.`,
  ];
  const wished = (topic: string) => `you        A slogan for the ${topic}`;
  for (const topic of ["bicycle", "kettle"]) {
    const printed = await example("group-chat", [`A slogan for the ${topic}`]);
    expect(printed).toBe([wished(topic), ...said(topic), ""].join("\n"));
  }
  const inside = (topic: string) => [
    wished(topic),
    `Writer     Nobody ever needed anything as much as the ${topic} of today.`,
    "Reviewer   Too long, and nobody believes it. Three words more than its name.",
    `Writer     The ${topic}. Just go.`,
    `Reviewer   APPROVED: "The ${topic}. Just go."`,
    `Publisher  Published: The ${topic}. Just go.`,
  ];
  const lines = (await example("group-chat")).trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^── campaign ─+$/),
    ...["bicycle", "kettle"].flatMap((topic) => [wished(topic), ...said(topic)]),
    expect.stringMatching(/^── inside Studio ─+$/),
    ...["bicycle", "kettle"].flatMap(inside),
  ]);
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
});
