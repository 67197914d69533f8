/**
 * Writes the elements of a list of Microsoft's Agent Framework, one a line of standard input, to a thread:
 * `redis-cli lrange chat_messages:thread_1 0 -1 | node import-agent-framework.ts thread_1`.
 * See docs/how-to/migrate.md.
 */
import { text } from "node:stream/consumers";
import { type ChatMessage, openStores, type Part } from "@scrollback/store-core";

interface Content {
  type: string;
  text?: string;
  call_id?: string;
  name?: string;
  arguments?: unknown;
  result?: unknown;
}
interface StoredMessage {
  role: ChatMessage["role"] | { value: ChatMessage["role"] }; // older versions write an object
  contents: Content[];
  author_name?: string;
  message_id?: string;
}

function toChatMessage(line: string): ChatMessage {
  const { role, contents, author_name: authorName, message_id: id }: StoredMessage = JSON.parse(line);
  const content = contents.map((one): Part => {
    const toolCallId = one.call_id ?? "";
    if (one.type === "function_call") {
      const input = typeof one.arguments === "string" ? JSON.parse(one.arguments) : one.arguments;
      return { type: "tool-call", toolCallId, toolName: one.name ?? "unknown", input };
    }
    if (one.type === "function_result") {
      return { type: "tool-result", toolCallId, toolName: one.name ?? "unknown", output: one.result };
    }
    if (one.type === "text_reasoning") return { type: "reasoning", text: one.text ?? "" };
    return one.type === "text"
      ? { type: "text", text: one.text ?? "" }
      : { ...one, type: "custom", kind: one.type };
  });
  return {
    role: typeof role === "string" ? role : role.value,
    content,
    ...(authorName && { authorName }),
    ...(id && { id }),
  };
}

const [threadId = "thread_1", url = "sqlite:chats.db"] = process.argv.slice(2);
const lines = (await text(process.stdin)).split("\n").filter((line) => line.trim() !== "");
await using stores = await openStores(url);
const store = stores.open(threadId);
await store.addMessages(lines.map(toChatMessage), { expectedRevision: null });
console.log((await store.listMessages()).map(({ role }) => role).join(" "));
