import type { Anthropic } from "@anthropic-ai/sdk";
import { checkHistory } from "@scrollback/reducers";
import { type ChatMessage, createMemoryStores, type MessageTraits } from "@scrollback/store-core";
import { anthropicTraits } from "@scrollback/store-core/anthropic";
import { openaiTraits } from "@scrollback/store-core/openai";
import fc from "fast-check";
import type { OpenAI } from "openai";
import { describe, expect, test } from "vitest";
import { trimmed } from "../src/trimming-oracle.ts";

// The messages of other SDKs are trimmed as the ChatMessages that say the same, and no result is kept without its call.

type Chat = OpenAI.ChatCompletionMessageParam;
type Item = OpenAI.Responses.ResponseInputItem;
type Claude = Anthropic.Beta.BetaMessageParam;

/** A message of an SDK, and the ChatMessage that says the same. */
interface Twin<M> {
  readonly message: M;
  readonly chat: ChatMessage;
  readonly calls: readonly string[];
  readonly results: readonly string[];
  /** Whether the message belongs to the message after it. */
  readonly leads: boolean;
}

type Kind = "text" | "call" | "result" | "reasoning" | "summary";

function twin<M>(
  message: M,
  role: ChatMessage["role"],
  kind: Kind = "text",
  ids: { readonly calls?: readonly string[]; readonly results?: readonly string[] } = {},
): Twin<M> {
  const { calls = [], results = [] } = ids;
  const content: ChatMessage["content"] = [
    ...(kind === "reasoning" ? [{ type: "reasoning" as const, text: "" }] : []),
    ...calls.map((id) => ({ type: "tool-call" as const, toolCallId: id, toolName: "t", input: {} })),
    ...results.map((id) => ({ type: "tool-result" as const, toolCallId: id, toolName: "t", output: 1 })),
  ];
  const chat: ChatMessage =
    kind === "summary"
      ? { role, content: "", metadata: { type: "scrollback.summary" } }
      : { role, content: content.length > 0 ? content : "" };
  return { message, chat, calls, results, leads: kind === "reasoning" };
}

/** How a format writes each step of a history. Calls and results are those of one answer. */
interface Format<M> {
  readonly traits: MessageTraits<M>;
  readonly system: readonly (() => Twin<M>)[];
  user(): Twin<M>;
  text(): Twin<M>;
  /** `extra` chooses what stands before and between the calls. */
  calls(ids: readonly string[], extra: number): readonly Twin<M>[];
  results(ids: readonly string[], extra: number): readonly Twin<M>[];
  readonly whole: readonly (() => Twin<M>)[];
  readonly summary?: () => Twin<M>;
}

const completions: Format<Chat> = {
  traits: openaiTraits,
  system: [
    () => twin<Chat>({ role: "system", content: "Be brief." }, "system"),
    () => twin<Chat>({ role: "developer", content: "Be brief." }, "system"),
  ],
  user: () => twin<Chat>({ role: "user", content: [{ type: "text", text: "Which tram?" }] }, "user"),
  text: () => twin<Chat>({ role: "assistant", content: "Line 4.", refusal: null }, "assistant"),
  calls: (ids, extra) =>
    ids.length === 1 && extra % 3 === 0
      ? [
          twin<Chat>(
            { role: "assistant", content: null, function_call: { name: ids[0] as string, arguments: "{}" } },
            "assistant",
            "call",
            { calls: ids },
          ),
        ]
      : [
          twin<Chat>(
            {
              role: "assistant",
              content: extra % 2 ? null : "I look.",
              tool_calls: ids.map((id, index) =>
                index % 2
                  ? { id, type: "custom", custom: { name: "t", input: "" } }
                  : { id, type: "function", function: { name: "t", arguments: "{}" } },
              ),
            },
            "assistant",
            "call",
            { calls: ids },
          ),
        ],
  results: (ids, extra) =>
    ids.length === 1 && extra % 3 === 0
      ? [
          twin<Chat>({ role: "function", name: ids[0] as string, content: "4" }, "tool", "result", {
            results: ids,
          }),
        ]
      : ids.map((id) =>
          twin<Chat>({ role: "tool", tool_call_id: id, content: "4" }, "tool", "result", { results: [id] }),
        ),
  whole: [],
};

const callItems: readonly ((id: string) => Item)[] = [
  (id) => ({ type: "function_call", call_id: id, name: "t", arguments: "{}" }),
  (id) => ({ type: "custom_tool_call", call_id: id, name: "t", input: "" }),
  (id) => ({ type: "mcp_approval_request", id, name: "t", arguments: "{}", server_label: "s" }),
  (id) => ({
    type: "local_shell_call",
    id: "lsh",
    call_id: id,
    status: "completed",
    action: { type: "exec", command: ["ls"], env: {} },
  }),
  (id) => ({ type: "tool_search_call", call_id: id, arguments: {} }),
];
const resultItems: readonly ((id: string) => Item)[] = [
  (id) => ({ type: "function_call_output", call_id: id, output: "4" }),
  (id) => ({ type: "custom_tool_call_output", call_id: id, output: "4" }),
  (id) => ({ type: "mcp_approval_response", approval_request_id: id, approve: true }),
  (id) => ({ type: "local_shell_call_output", id, output: "4" }),
  (id) => ({ type: "tool_search_output", call_id: id, tools: [] }),
];
const leadingItems: readonly Item[] = [
  { type: "reasoning", id: "rs_1", summary: [] },
  { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "tram" } },
  { type: "mcp_call", id: "mcp_1", name: "t", arguments: "{}", server_label: "s", output: "4" },
  { role: "assistant", content: "I look.", phase: "commentary" },
  { type: "item_reference", id: "rs_2" },
];
const leading = (extra: number) =>
  twin<Item>(leadingItems[extra % leadingItems.length] as Item, "assistant", "reasoning");

const items: Format<Item> = {
  traits: openaiTraits,
  system: [
    () => twin<Item>({ role: "system", content: "Be brief." }, "system"),
    () => twin<Item>({ type: "message", role: "developer", content: [] }, "system"),
  ],
  user: () => twin<Item>({ role: "user", content: [{ type: "input_text", text: "Which tram?" }] }, "user"),
  text: () =>
    twin<Item>(
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Line 4.", annotations: [] }],
      },
      "assistant",
    ),
  calls: (ids, extra) =>
    ids.flatMap((id, index) => [
      ...((extra >> index) % 2 ? [leading(extra + index)] : []),
      twin(callOf(callItems, id), "assistant", "call", { calls: [id] }),
    ]),
  results: (ids, extra) =>
    (extra % 2 ? ids : ids.toReversed()).map((id) =>
      twin(callOf(resultItems, id), "tool", "result", { results: [id] }),
    ),
  whole: leadingItems.map((_, index) => () => leading(index)),
  summary: () => twin<Item>({ type: "compaction", encrypted_content: "x" }, "assistant", "summary"),
};

/** A call and its result have the same type, which the id chooses. */
function callOf(list: readonly ((id: string) => Item)[], id: string): Item {
  const make = list[Number(id) % list.length];
  if (!make) throw new Error("no such type");
  return make(id);
}

const claude: Format<Claude> = {
  traits: anthropicTraits,
  system: [() => twin<Claude>({ role: "system", content: "Be brief." }, "system")],
  user: () => twin<Claude>({ role: "user", content: [{ type: "text", text: "Which tram?" }] }, "user"),
  text: () =>
    twin<Claude>(
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "", signature: "" },
          { type: "text", text: "Line 4." },
        ],
      },
      "assistant",
    ),
  calls(ids, extra) {
    const blocks = ids.map((id, index): Anthropic.Beta.BetaContentBlockParam => {
      const types = ["tool_use", "server_tool_use", "mcp_tool_use"] as const;
      const type = types[(extra + index) % 3];
      if (type === "mcp_tool_use") return { type, id, name: "t", input: {}, server_name: "s" };
      if (type === "server_tool_use") return { type, id, name: "web_search", input: {} };
      return { type: "tool_use", id, name: "t", input: {} };
    });
    const thinking = { type: "thinking", thinking: "", signature: "" } as const;
    return extra % 2
      ? blocks.map((block, index) =>
          twin<Claude>({ role: "assistant", content: [block] }, "assistant", "call", {
            calls: ids.slice(index, index + 1),
          }),
        )
      : [
          twin<Claude>({ role: "assistant", content: [thinking, ...blocks] }, "assistant", "call", {
            calls: ids,
          }),
        ];
  },
  results(ids, extra) {
    const blocks = ids.map((id): Anthropic.Beta.BetaContentBlockParam => {
      if (extra % 3 === 1) return { type: "mcp_tool_result", tool_use_id: id };
      return extra % 3 === 2
        ? { type: "web_search_tool_result", tool_use_id: id, content: [] }
        : { type: "tool_result", tool_use_id: id, content: "4" };
    });
    return extra % 2
      ? blocks.map((block, index) =>
          twin<Claude>({ role: "user", content: [block] }, "user", "result", {
            results: ids.slice(index, index + 1),
          }),
        )
      : [
          twin<Claude>(
            { role: "user", content: [...blocks, { type: "text", text: "And?" }] },
            "user",
            "result",
            {
              results: ids,
            },
          ),
        ];
  },
  whole: [
    // A call that the API runs itself, with its result.
    () =>
      twin<Claude>(
        {
          role: "assistant",
          content: [
            { type: "server_tool_use", id: "own", name: "web_search", input: {} },
            { type: "web_search_tool_result", tool_use_id: "own", content: [] },
            { type: "text", text: "Line 4." },
          ],
        },
        "assistant",
      ),
    () =>
      twin<Claude>(
        { role: "assistant", content: [{ type: "redacted_thinking", data: "x" }] },
        "assistant",
        "reasoning",
      ),
  ],
  summary: () =>
    twin<Claude>(
      { role: "assistant", content: [{ type: "compaction", content: "x" }] },
      "assistant",
      "summary",
    ),
};

type Step =
  | { readonly kind: "system" | "user" | "text" | "whole" | "summary"; readonly extra: number }
  | { readonly kind: "tools"; readonly count: number; readonly extra: number };

const extra = fc.nat(31);
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom("system", "user", "text", "whole", "summary"), extra }),
    fc.record({ kind: fc.constant("tools"), count: fc.integer({ min: 1, max: 4 }), extra }),
  ) as fc.Arbitrary<Step>,
  { minLength: 1, maxLength: 12 },
);

/** The messages of the steps, each step a list. */
function written<M>(format: Format<M>, list: readonly Step[]): Twin<M>[][] {
  let number = 0;
  return list.map((step, index) => {
    if (step.kind === "tools") {
      const ids = Array.from({ length: step.count }, () => String(++number));
      return [...format.calls(ids, step.extra), ...format.results(ids, step.extra)];
    }
    if (step.kind === "user") return [format.user()];
    const among = (makers: readonly (() => Twin<M>)[]) => makers[step.extra % makers.length] ?? format.text;
    if (step.kind === "whole") return [among(format.whole)()];
    if (step.kind === "summary") return [(format.summary ?? format.text)()];
    return [step.kind === "system" && index === 0 ? among(format.system)() : format.text()];
  });
}

/** The steps, with messages that belong to what follows in the step that they lead. */
function withLeads<M>(list: readonly Twin<M>[][]): Twin<M>[][] {
  const joined: Twin<M>[][] = [];
  for (const step of list)
    if (joined.at(-1)?.at(-1)?.leads) joined.at(-1)?.push(...step);
    else joined.push([...step]);
  return joined;
}

/** The number of results that have no call before them. */
function orphans<M>(twins: readonly Twin<M>[]): number {
  const known = new Set<string>();
  let count = 0;
  for (const { calls, results } of twins) {
    for (const id of calls) known.add(id);
    for (const id of results) if (!known.has(id)) count++;
  }
  return count;
}

/** The problems of messages, not of tools: a step may begin a trimmed thread, and the histories here need no answers. */
const positions: readonly string[] = ["starts-with", "late-system"];

function checkFormat<M extends object>(format: Format<M>) {
  test("every state after every commit is the oracle's, and has each result with its call", async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 1, max: 16 }),
        fc.integer({ min: 1, max: 4 }),
        async (list, maxMessages, batch) => {
          // A step that does not fit beside two pinned messages is one commit: its late results would have no calls.
          const commits = withLeads(written(format, list)).flatMap((step) =>
            step.length + 2 > maxMessages
              ? [step]
              : Array.from({ length: Math.ceil(step.length / batch) }, (_, index) =>
                  step.slice(index * batch, (index + 1) * batch),
                ),
          );
          const store = createMemoryStores<M>({ traits: format.traits, maxMessages }).open("a");
          let expected: readonly Twin<M>[] = [];
          for (const commit of commits) {
            const all = [...expected, ...commit];
            const chats = trimmed(
              all.map(({ chat }) => chat),
              maxMessages,
              "turns",
            );
            expected = all.filter(({ chat }) => chats.includes(chat));
            await store.addMessages(commit.map(({ message }) => message));
            const kept = await store.listMessages();
            expect(kept).toStrictEqual(expected.map(({ message }) => message));
            expect(orphans(expected)).toBe(0);
            const codes = checkHistory(kept, { traits: format.traits }).map(({ code }) => code);
            expect(codes.filter((code) => !positions.includes(code))).toEqual([]);
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  test("a result that is dropped, repeated or moved is a problem", () => {
    const ask = format.user();
    const [call, result] = [format.calls(["1"], 2), format.results(["1"], 2)];
    const codesOf = (twins: readonly Twin<M>[], forRequest = false) =>
      checkHistory(
        twins.map(({ message }) => message),
        { traits: format.traits, forRequest },
      ).map(({ code }) => code);
    expect(codesOf([ask, ...call, ...result], true)).toEqual([]);
    expect(codesOf([ask, ...call], true)).toContain("unanswered-tool-call");
    expect(codesOf([ask, ...call, ask])).toEqual(["unanswered-tool-call"]);
    expect(codesOf([ask, ...result])).toEqual(["orphan-tool-result"]);
    expect(codesOf([ask, ...result, ...call])).toEqual(["orphan-tool-result"]);
    expect(codesOf([ask, ...call, ...result, ...result])).toEqual(["duplicate-tool-result"]);
    expect(codesOf([...result])).toEqual(["starts-with", "orphan-tool-result"]);
  });

  test("every message is accepted, and its calls and results are found", () => {
    const all = [
      ...format.system.map((make) => make()),
      ...format.whole.map((make) => make()),
      ...[1, 2, 3, 4, 5, 6].flatMap((extra) =>
        [["1"], ["2", "3"], ["4", "5", "6"]].flatMap((ids) => [
          ...format.calls(ids, extra),
          ...format.results(ids, extra),
        ]),
      ),
    ];
    for (const { message, calls, results, leads } of all) {
      expect(format.traits.check?.(message)).toBeUndefined();
      expect(format.traits.toolCalls(message)).toEqual(calls);
      expect(format.traits.toolResults(message)).toEqual(results);
      expect(format.traits.isReasoning?.(message)).toBe(leads);
    }
  });
}

describe("chat completions", () => checkFormat(completions));
describe("items of the Responses API", () => checkFormat(items));
describe("the Anthropic SDK", () => checkFormat(claude));
