import { expect, test } from "vitest";
import { anthropicTraits } from "../src/anthropic.ts";
import { type ChatMessage, chatMessageTraits, createMemoryStores, type MessageTraits } from "../src/index.ts";
import { kindOf } from "../src/message/chat-message-traits.ts";
import { openaiTraits } from "../src/openai.ts";

const openai = 'traits: openaiTraits of "@scrollback/store-core/openai"';
const anthropic = 'traits: anthropicTraits of "@scrollback/store-core/anthropic"';
const other = "with your own traits for its type";

const foreign: [message: object, problem: string, fix: string][] = [
  [{ role: "assistant", content: "", tool_calls: [{ id: "1" }] }, "tool_calls", openai],
  [{ role: "assistant", content: null, tool_calls: [{ id: "1" }] }, "tool_calls", openai],
  [{ role: "tool", content: "4", tool_call_id: "1" }, "tool_call_id", openai],
  [{ role: "assistant", content: "", function_call: { name: "t" } }, "function_call", openai],
  [{ role: "developer", content: "Be brief." }, 'role "developer"', openai],
  [{ role: "function", name: "t", content: "4" }, 'role "function"', openai],
  [{ type: "function_call", call_id: "1", name: "t", arguments: "{}" }, 'type "function_call"', openai],
  [{ type: "function_call_output", call_id: "1", output: "4" }, 'type "function_call_output"', openai],
  [{ type: "mcp_approval_response", approval_request_id: "1" }, 'type "mcp_approval_response"', openai],
  [{ role: "assistant", content: [{ type: "tool_use", id: "1" }] }, "content[0]", anthropic],
  [{ role: "assistant", content: [{ type: "server_tool_use", id: "1" }] }, "content[0]", anthropic],
  [
    {
      role: "user",
      content: [
        { type: "text", text: "" },
        { type: "tool_result", tool_use_id: "1" },
      ],
    },
    "content[1]",
    anthropic,
  ],
  [
    { role: "assistant", content: [{ type: "web_search_tool_result", tool_use_id: "1" }] },
    "content[0]",
    anthropic,
  ],
  [{ role: "assistant", content: "", toolCalls: [{ id: "1" }] }, "toolCalls", other],
  [{ role: "assistant", content: "", toolInvocations: [{ toolCallId: "1" }] }, "toolInvocations", other],
  [
    { role: "assistant", content: [{ type: "tool_call", id: "1", name: "t", args: {} }] },
    "content[0]",
    other,
  ],
  [{ role: "tool", content: [{ type: "function_result", call_id: "1" }] }, "content[0]", other],
];

test.each(foreign)(
  "the default traits refuse %j, and a stored one is still read",
  async (message, problem, fix) => {
    const stores = createMemoryStores();
    const refused = stores
      .open("a")
      .addMessages([{ role: "user", content: "Hello" }, message as ChatMessage]);
    await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(refused).rejects.toThrow(`messages[1]: ${problem}`);
    await expect(refused).rejects.toThrow(fix);
    expect(await stores.open("a").listMessages()).toEqual([]);
    const any: MessageTraits<object> = { role: () => "user", toolCalls: () => [], toolResults: () => [] };
    await stores.withTraits(any).open("a").addMessages([message]);
    expect(await stores.open("a").listMessages()).toEqual([message]);
  },
);

test("fields that say that there are no calls are stored", async () => {
  const message = { role: "assistant", content: "4", tool_calls: [], function_call: null, refusal: null };
  const store = createMemoryStores().open();
  await store.addMessages([message as unknown as ChatMessage]);
  expect(await store.listMessages()).toEqual([message]);
});

test.each([
  [openaiTraits, null, "must be an object"],
  [openaiTraits, {}, "type must be a string"],
  [openaiTraits, { role: "robot", content: "" }, "role must be"],
  [openaiTraits, { role: "user" }, "content must be"],
  [openaiTraits, { role: "tool", content: "4" }, "tool_call_id must be"],
  [openaiTraits, { role: "function", content: "4" }, "name must be"],
  [openaiTraits, { role: "assistant", tool_calls: {} }, "tool_calls must be"],
  [openaiTraits, { role: "assistant", tool_calls: [{ id: "1" }, {}] }, "tool_calls[1].id must be"],
  [openaiTraits, { role: "assistant", function_call: {} }, "function_call.name must be"],
  [
    openaiTraits,
    { role: "assistant", content: [{ type: "tool_use", id: "1" }] },
    "content[0] is a block of the Anthropic SDK",
  ],
  [openaiTraits, { type: "function_call_output", output: "4" }, "call_id must be"],
  [anthropicTraits, [], "must be an object"],
  [anthropicTraits, { role: "tool", content: "" }, "role must be"],
  [anthropicTraits, { role: "user", content: null }, "content must be"],
  [anthropicTraits, { role: "user", content: ["4"] }, "content[0] must be"],
  [
    anthropicTraits,
    { role: "assistant", content: "", tool_calls: [] },
    "tool_calls is a field of the OpenAI SDK",
  ],
  [anthropicTraits, { role: "assistant", content: [{ type: "tool_use" }] }, "content[0].id must be"],
  [anthropicTraits, { role: "user", content: [{ type: "tool_result" }] }, "content[0].tool_use_id must be"],
] as [MessageTraits<object>, unknown, string][])(
  "traits of an SDK refuse other messages: %#",
  (traits, message, problem) => {
    expect(traits.check?.(message)?.slice(0, problem.length)).toBe(problem);
  },
);

test("a history does not begin among the calls of a program", () => {
  const caller = { type: "program", caller_id: "p" };
  const program = [
    { type: "program", call_id: "p", code: "" },
    { type: "function_call", call_id: "1", name: "t", arguments: "{}", caller },
    { type: "function_call_output", call_id: "1", output: "4" },
    { type: "function_call", call_id: "2", name: "t", arguments: "{}", caller },
    { type: "function_call_output", call_id: "2", output: "4" },
    { type: "program_output", call_id: "p", output: "44" },
  ];
  const ofObjects: MessageTraits<object> = openaiTraits;
  expect(program.map((item) => kindOf(item, ofObjects)).join("")).toBe("cbtbtt");
  const call = (id: string) => ({ type: "tool_use", id, name: "t", input: {}, caller: { tool_id: "p" } });
  const result = (id: string) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id }] });
  const code = [
    { role: "assistant", content: [{ type: "server_tool_use", id: "p" }, call("1")] },
    result("1"),
    { role: "assistant", content: [call("2")] },
    result("2"),
    { role: "assistant", content: [{ type: "code_execution_tool_result", tool_use_id: "p" }] },
  ];
  const ofBlocks: MessageTraits<object> = anthropicTraits;
  expect(code.map((message) => kindOf(message, ofBlocks)).join("")).toBe("ctbtt");
});

test("the default traits keep the parts of other types that are not tool calls or results", () => {
  const content = [
    { type: "thinking", thinking: "" },
    { type: "hologram", beam: 7 },
    { type: "tool-approval-request" },
  ];
  expect(chatMessageTraits.check({ role: "assistant", content })).toBeUndefined();
});
