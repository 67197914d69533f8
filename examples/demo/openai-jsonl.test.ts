import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreError } from "@scrollback/store-core";
import { modelMessageSchema } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentBatches, readConversation } from "./openai-jsonl.ts";

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-demo-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(content: string | Uint8Array): Promise<string> {
  const file = join(folder, `${crypto.randomUUID()}.jsonl`);
  await writeFile(file, content);
  return file;
}
const jsonl = (...records: unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join("");
const importOf = async (...records: unknown[]) => collect(readConversation(await fileOf(jsonl(...records))));

const ask = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: `tool_${id}`, arguments: "{}" } })),
});
const answer = (id: string, content: unknown = "done") => ({ role: "tool", tool_call_id: id, content });
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==";
const text = (value: string) => ({ type: "text", text: value });
const image = (url: unknown, more = {}) => ({ type: "image_url", image_url: { url, ...more } });

describe("mapping", () => {
  test("roles, names and other fields", async () => {
    expect(
      await importOf(
        { role: "developer", content: "Be brief." },
        { role: "system", content: [text("One."), text("Two.")] },
        { role: "user", name: "Mira", content: "Hi" },
        { role: "assistant", content: "Hello", refusal: null, annotations: [], weight: 0, audio: null },
      ),
    ).toStrictEqual([
      { role: "system", content: "Be brief." },
      { role: "system", content: "One.\nTwo." },
      { role: "user", content: "Hi", authorName: "Mira" },
      { role: "assistant", content: "Hello", metadata: { annotations: [], weight: 0 } },
    ]);
  });

  test("parts of a user's message: text, image bytes, image links", async () => {
    const content = [
      text("Look"),
      image(`data:image/png;base64,${pixel}`, { detail: "low" }),
      image("https://example.com/a.png"),
    ];
    const [message] = await importOf({ role: "user", content });
    expect(message).toStrictEqual({
      role: "user",
      content: [
        text("Look"),
        {
          type: "file",
          data: new Uint8Array(Buffer.from(pixel, "base64")),
          mediaType: "image/png",
          providerOptions: { openai: { imageDetail: "low" } },
        },
        { type: "file", data: new URL("https://example.com/a.png"), mediaType: "image" },
      ],
    });
    expect(modelMessageSchema.safeParse(message).success).toBe(true);
  });

  test("tool calls, and results in another order", async () => {
    const call = (id: string, name: string, args: string) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    });
    const calls = [call("a", "weather", '{"city":"Gent"}'), call("b", "clock", "{}"), call("c", "log", "{}")];
    const messages = await importOf(
      { role: "assistant", content: "Let me look.", tool_calls: calls },
      answer("b", "[10:15] all well"),
      answer("a", ' {"c":21}'),
      answer("c", [text("one"), text("two")]),
      ask("d", "e"),
      answer("d", "[1,2]"),
      answer("e", "42"),
    );
    const result = (toolCallId: string, toolName: string, output: unknown) => ({
      role: "tool",
      content: [{ type: "tool-result", toolCallId, toolName, output }],
    });
    expect(messages).toStrictEqual([
      {
        role: "assistant",
        content: [
          text("Let me look."),
          { type: "tool-call", toolCallId: "a", toolName: "weather", input: { city: "Gent" } },
          { type: "tool-call", toolCallId: "b", toolName: "clock", input: {} },
          { type: "tool-call", toolCallId: "c", toolName: "log", input: {} },
        ],
      },
      result("b", "clock", { type: "text", value: "[10:15] all well" }),
      result("a", "weather", { type: "json", value: { c: 21 } }),
      result("c", "log", { type: "content", value: [text("one"), text("two")] }),
      expect.objectContaining({ role: "assistant" }),
      result("d", "tool_d", { type: "json", value: [1, 2] }),
      result("e", "tool_e", { type: "text", value: "42" }),
    ]);
    for (const message of messages) expect(modelMessageSchema.safeParse(message).success).toBe(true);
  });

  test("an id can be reused in a later turn; empty text beside calls adds no part", async () => {
    const messages = await importOf({ ...ask("a"), content: "" }, answer("a"), ask("a"), answer("a"));
    expect(messages).toHaveLength(4);
    expect(messages[0]?.content).toHaveLength(1);
  });

  test("refusals, as a field and as a part", async () => {
    const refused = { metadata: { refusal: true }, role: "assistant" };
    expect(
      await importOf(
        { role: "assistant", content: null, refusal: "I won't." },
        { role: "assistant", content: [text("Well:"), { type: "refusal", refusal: "no." }] },
      ),
    ).toStrictEqual([
      { ...refused, content: "I won't." },
      { ...refused, content: [text("Well:"), text("no.")] },
    ]);
  });
});

describe("lines", () => {
  const hi = { role: "user", content: "Hi" };

  test("blank lines, CRLF, a byte order mark and a last line without an end", async () => {
    const file = await fileOf(`\uFEFF${JSON.stringify(hi)}\r\n\r\n  \n${JSON.stringify(hi)}`);
    expect(await collect(readConversation(file))).toStrictEqual([hi, hi]);
    expect(await collect(readConversation(await fileOf("")))).toEqual([]);
  });

  test("a line longer than one chunk, and characters across chunk boundaries", async () => {
    const long = { role: "user", content: `a${"é".repeat(100_000)}\u2028b` };
    expect(await importOf(long, hi, long)).toStrictEqual([long, hi, long]);
  });

  test("messages before an invalid line are yielded", async () => {
    const messages = readConversation(await fileOf(`${JSON.stringify(hi)}\nnonsense\n`));
    expect((await messages.next()).value).toStrictEqual(hi);
    await expect(messages.next()).rejects.toThrow("line 2: the line is not valid JSON");
  });
});

describe("invalid records", () => {
  const user = (content: unknown, more = {}) => ({ role: "user", content, ...more });
  const hi = user("Hi");
  const model = (more: object) => ({ role: "assistant", content: null, ...more });
  const calling = (...calls: unknown[]) => model({ tool_calls: calls });
  const call = (more: object) => ({
    id: "a",
    type: "function",
    function: { name: "f", arguments: "{}" },
    ...more,
  });
  const withArguments = (json: unknown) => calling(call({ function: { name: "f", arguments: json } }));
  const png = (data: string) => user([image(`data:image/png;base64,${data}`)]);
  const url = "content[0].image_url.url";
  const cases: [string, unknown[], number, string][] = [
    ["a line that is not an object", [hi, ["role", "user"]], 2, "the line must be a message object"],
    ["no role", [{ content: "Hi" }], 1, 'role must be "system", "developer", "user"'],
    ["unknown role", [hi, { role: "function", content: "1" }], 2, "role must be"],
    ["misspelt role", [ask("a"), { ...answer("a"), role: "tools" }], 2, "tool_call_id belongs to role"],
    [
      "content of another type",
      [hi, hi, user(7)],
      3,
      "content must be a string or a non-empty array of parts",
    ],
    ["null content", [user(null)], 1, "content must be a string"],
    ["null content of the model", [model({})], 1, "(null only beside tool_calls or a refusal)"],
    ["no parts", [user([])], 1, "content must be a string or a non-empty array of parts"],
    ["a part that is not an object", [user(["Hi"])], 1, "content[0] must be an object"],
    ["unknown part", [user([text("a"), { type: "audio" }])], 1, 'content[1].type must be "text" or'],
    ["inherited part type", [user([{ type: "toString" }])], 1, "content[0].type must be"],
    ["text that is not a string", [user([{ type: "text", text: 1 }])], 1, "content[0].text must be a string"],
    ["image of the system", [{ ...png(pixel), role: "system" }], 1, 'content[0].type must be "text", for'],
    ["image without url", [user([image(undefined)])], 1, `${url} must be a non-empty string`],
    [
      "image_url as a string",
      [user([{ type: "image_url", image_url: "data:," }])],
      1,
      "image_url must be an",
    ],
    ["bad base64", [png("iVBOR*0KGgo=")], 1, `${url} is not a valid data URL; write data:image/png;base64,`],
    ["base64 cut off", [png("iVBORw0KG")], 1, `${url} is not a valid data URL`],
    ["empty data URL", [png("")], 1, `${url} is not a valid data URL`],
    [
      "data URL of no image",
      [user([image("data:text/html;base64,PGI+")])],
      1,
      `${url} is not a valid data URL`,
    ],
    [
      "data URL as text",
      [user([image("data:image/svg+xml,%3Csvg%3E")])],
      1,
      `${url} is not a valid data URL`,
    ],
    ["a local file", [user([image("file:///etc/passwd")])], 1, `${url} must be a data:, https: or http: URL`],
    ["name", [user("Hi", { name: 5 })], 1, "name must be a non-empty string"],
    ["tool_calls of a user", [user("Hi", { tool_calls: [] })], 1, 'tool_calls belongs to role "assistant"'],
    ["refusal of a user", [user("Hi", { refusal: "no" })], 1, 'refusal belongs to role "assistant"'],
    ["refusal and content", [model({ content: "a", refusal: "b" })], 1, "set content to null"],
    ["function_call", [model({ function_call: {} })], 1, "write it as tool_calls"],
    ["no tool calls", [calling()], 1, "tool_calls must be an array of calls; leave it out"],
    ["a call that is not an object", [calling(call({}), 1)], 1, "tool_calls[1] must be an object"],
    ["custom call", [calling(call({ type: "custom" }))], 1, 'tool_calls[0].type must be "function"'],
    [
      "call without a function",
      [calling(call({ function: null }))],
      1,
      "tool_calls[0].function must be an object",
    ],
    ["call without id", [calling(call({ id: "" }))], 1, "tool_calls[0].id must be a non-empty string"],
    ["call without name", [calling(call({ function: { arguments: "{}" } }))], 1, "function.name must be"],
    ["call id twice", [hi, ask("a", "a")], 2, 'tool_calls[1].id "a" is taken'],
    ["arguments as an object", [withArguments({})], 1, "tool_calls[0].function.arguments must be a string"],
    [
      "arguments that are not JSON",
      [withArguments("{a:1}")],
      1,
      "tool_calls[0].function.arguments is not valid JSON",
    ],
    ["arguments empty", [withArguments("")], 1, 'write the JSON of an object, "{}" for none'],
    [
      "arguments that are not an object",
      [withArguments("[1]")],
      1,
      "tool_calls[0].function.arguments must be an object",
    ],
    [
      "result without id",
      [ask("a"), { role: "tool", content: "1" }],
      2,
      "tool_call_id must be a non-empty string",
    ],
    ["result without call", [hi, answer("a")], 2, 'tool_call_id "a" answers no open call; put the result'],
    ["result twice", [ask("a", "b"), answer("a"), answer("a")], 3, 'tool_call_id "a" answers no open call'],
    ["result too late", [ask("a"), answer("a"), hi, answer("a")], 4, 'tool_call_id "a" answers no open call'],
    ["result without content", [ask("a"), answer("a", null)], 2, "content must be a string"],
    ["no result", [hi, ask("a", "b"), answer("a"), hi], 2, 'the call "b" of tool_b has no'],
    ["no result at the end", [ask("a")], 1, "has no result; add its tool message right after this line's"],
  ];

  test.each(cases)("%s", async (_title, records, line, problem) => {
    const file = await fileOf(jsonl(...records));
    const error = await collect(readConversation(file)).catch((error: unknown) => error);
    expect(StoreError.is(error, "INVALID_ARGUMENT"), String(error)).toBe(true);
    const { message } = error as StoreError;
    expect(message).toContain(`${file}, line ${line}: `);
    expect(message).toContain(problem);
  });

  test("invalid JSON and text that is not UTF-8 keep the parser's error as cause", async () => {
    const cut = await fileOf(`${JSON.stringify(hi)}\n\n{"role":"user","content":"H`);
    await expect(collect(readConversation(cut))).rejects.toMatchObject({
      message: `${cut}, line 3: the line is not valid JSON; write one message object a line`,
      cause: { name: "SyntaxError" },
    });
    const latin = await fileOf(Buffer.from('{"role":"user","content":"é"}\n', "latin1"));
    await expect(collect(readConversation(latin))).rejects.toMatchObject({
      message: `${latin}, line 1: the line is not UTF-8; save the file as UTF-8`,
    });
  });

  test("a missing file", async () => {
    const file = join(folder, "none.jsonl");
    const error = await collect(readConversation(file)).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", cause: { code: "ENOENT" } });
    expect((error as Error).message).toContain(file);
  });
});

describe("agentBatches", () => {
  test("the input, then the agent's messages up to its answer", async () => {
    const say = (role: "system" | "user" | "assistant", content: string) => ({ role, content });
    const records = [
      [say("system", "Be brief."), say("user", "1"), say("user", "2")],
      [ask("a", "b"), answer("a"), answer("b"), ask("c"), answer("c"), say("assistant", "3")],
      [say("assistant", "PS: 4")],
      [say("user", "5")],
      [ask("d"), answer("d")],
      [say("user", "6")],
    ];
    const file = await fileOf(jsonl(...records.flat()));
    const batches = await collect(agentBatches(readConversation(file)));
    expect(batches.map(({ length }) => length)).toEqual(records.map(({ length }) => length));
    expect(batches.flat()).toStrictEqual(await collect(readConversation(file)));
  });
});
