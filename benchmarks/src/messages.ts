import type { ChatMessage } from "@scrollback/store-core";
import { type Random, seededRandom } from "./random.ts";

const words =
  "the store keeps every message of a thread in order and trims it by whole turns while agents call tools result order customer invoice delivery address please check whether it was sent".split(
    " ",
  );

/** One of an agent's turns: a question, a tool call, its result, an answer. Every fifth text has characters outside ASCII. */
function makeTurn(random: Random, turn: number): ChatMessage[] {
  const upTo = (end: number) => Math.floor(random() * end);
  const text = (from: number, to: number) => {
    const chosen = Array.from({ length: from + upTo(to - from) }, () => words[upTo(words.length)]);
    if (upTo(5) === 0) chosen.push("naïve 東京 👩‍🚀");
    return chosen.join(" ");
  };
  const toolCallId = `call_${turn}`;
  const toolName = "find_orders";
  const input = { customer: text(2, 3), limit: 10, open: true };
  const rows = Array.from({ length: 6 }, (_, row) => ({
    id: 10 * turn + row,
    total: random(),
    note: text(4, 9),
  }));
  const output = { type: "json", value: rows };
  return [
    { role: "user", content: text(15, 60) },
    {
      role: "assistant",
      content: [
        { type: "text", text: text(5, 20) },
        { type: "tool-call", toolCallId, toolName, input },
      ],
    },
    { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
    { role: "assistant", content: text(40, 160) },
  ];
}

const random = seededRandom(1);
/** The messages that all measurements write and read, the same in every run. */
const conversation = Array.from({ length: 1_000 }, (_, turn) => makeTurn(random, turn)).flat();

/** `count` messages of the conversation from a position on; after its end it starts over. */
export function messagesFrom(position: number, count: number): ChatMessage[] {
  return Array.from(
    { length: count },
    (_, index) => conversation[(position + index) % conversation.length] as ChatMessage,
  );
}

/** The mean size of a message as JSON, in bytes. */
export function meanMessageBytes(): number {
  return Buffer.byteLength(JSON.stringify(conversation)) / conversation.length;
}
