import { createReadStream } from "node:fs";
import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { invalid, isObject } from "@scrollback/store-core/driver";
import { type Fields, parseJson, toChatMessage } from "./openai-message.ts";

/**
 * Reads a conversation in the format of OpenAI's chat completions: a JSONL file with one message object a line, UTF-8.
 * Yields one message per line, in the file's order, while it reads; skips blank lines. The AI SDK accepts the messages as
 * `ModelMessage`s.
 *
 * | OpenAI                              | here                                                                            |
 * | ----------------------------------- | ------------------------------------------------------------------------------- |
 * | `role: "developer"`                 | role `system`; the other roles keep their names                                 |
 * | `name`                              | `authorName`                                                                    |
 * | `content`, a string                 | the same string; beside `tool_calls` one text part, or none when it is empty    |
 * | `content`, parts, of role `system`  | one string, the parts' texts joined by line breaks                              |
 * | part `text`                         | part `text`                                                                     |
 * | part `image_url`, a `data:` URL     | part `file`: the bytes (`Uint8Array`) and their `mediaType`                     |
 * | part `image_url`, `http(s):`        | part `file`: the `URL`, `mediaType: "image"`                                    |
 * | `image_url.detail`                  | `providerOptions.openai.imageDetail` of that part                               |
 * | `refusal`, or a part `refusal`      | text like `content`, and `metadata.refusal: true`                               |
 * | `tool_calls[]`                      | parts `tool-call` after the text; `input` is what the JSON of `arguments` holds |
 * | role `tool`, `tool_call_id`         | one part `tool-result`; `toolName` is that of the call it answers               |
 * | its `content`, a string             | `output`: `json` when it is the JSON of an object or array, else `text`         |
 * | its `content`, parts                | `output`: `content`, a list of texts                                            |
 * | any other field, unless it is null  | the same field of `metadata`                                                    |
 *
 * Other fields of a part or of a tool call are left out.
 *
 * Rejects each line that the API would reject too, for example when a tool call has no result before the next message that is
 * not a result, or before the end of the file. Also rejects what this importer does not support: audio and file parts,
 * custom tool calls, and the deprecated `function` role and `function_call`.
 *
 * @throws StoreError `INVALID_ARGUMENT` that names the file, the line (from 1), the field at fault and the fix; for a file
 * that cannot be read its `cause` is the system's error. The messages before the bad line have been yielded.
 * @example
 * for await (const message of readConversation("conversation.jsonl")) await store.addMessages([message]);
 */
export async function* readConversation(file: string): AsyncGenerator<ChatMessage> {
  let number = 0;
  let asked = { number: 0, calls: new Map<string, string>() };
  for await (const line of linesOf(file)) {
    number++;
    const record = at(file, number, () => parseLine(line));
    if (!record) continue;
    const message = at(file, number, () => toChatMessage(record, asked.calls));
    if (message.role !== "tool") {
      at(file, asked.number, () => checkAnswered(asked.calls));
      asked = { number, calls: callsOf(message) };
    }
    yield message;
  }
  at(file, asked.number, () => checkAnswered(asked.calls));
}

/**
 * Groups a conversation into the batches that an agent commits. Yields each batch as soon as it is complete: first the
 * input (system and user messages up to the model's turn), then the agent's output (assistant messages and tool results up
 * to and including the answer, an assistant message without a tool call). Together the batches are the conversation. A
 * tool call and its results are in the same batch.
 *
 * @example
 * for await (const batch of agentBatches(readConversation("conversation.jsonl"))) await store.addMessages(batch);
 */
export async function* agentBatches(messages: AsyncIterable<ChatMessage>): AsyncGenerator<ChatMessage[]> {
  const isInput = ({ role }: ChatMessage) => role === "system" || role === "user";
  const isAnswer = (message: ChatMessage) => message.role === "assistant" && callsOf(message).size === 0;
  let batch: ChatMessage[] = [];
  for await (const message of messages) {
    const last = batch.at(-1);
    if (last && (isAnswer(last) || isInput(last) !== isInput(message))) {
      yield batch;
      batch = [];
    }
    batch.push(message);
  }
  if (batch.length > 0) yield batch;
}

/** The lines of a file as bytes. node:readline also breaks lines at U+2028, which JSON may contain unescaped. */
async function* linesOf(file: string): AsyncGenerator<Uint8Array> {
  let pieces: Buffer[] = [];
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
        yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
        pieces = [];
        start = end + 1;
      }
      pieces.push(chunk.subarray(start));
    }
  } catch (cause) {
    throw new StoreError("INVALID_ARGUMENT", `${file}: cannot be read; give a JSONL file's path`, { cause });
  }
  yield Buffer.concat(pieces);
}

/** Runs `work`, and adds the line of the file to its errors. */
function at<T>(file: string, number: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    throw new StoreError(error.code, `${file}, line ${number}: ${error.message}`, { cause: error.cause });
  }
}

function parseLine(line: Uint8Array): Fields | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(line);
  } catch (cause) {
    throw new StoreError("INVALID_ARGUMENT", "the line is not UTF-8; save the file as UTF-8", { cause });
  }
  if (text.trim() === "") return undefined;
  const record = parseJson(text, "the line", "write one message object a line");
  if (isObject(record)) invalid("the line must be a message object with a role and content");
  return record as Fields;
}

/** The tool calls of a message: the names of their tools by call id. */
function callsOf({ content }: ChatMessage): Map<string, string> {
  const parts = typeof content === "string" ? [] : content;
  return new Map(
    parts.flatMap((part) => (part.type === "tool-call" ? [[part.toolCallId, part.toolName]] : [])),
  );
}

function checkAnswered(calls: ReadonlyMap<string, string>): void {
  for (const [id, toolName] of calls) {
    invalid(
      `tool_calls: the call "${id}" of ${toolName} has no result; add its tool message right after this line's`,
    );
  }
}
