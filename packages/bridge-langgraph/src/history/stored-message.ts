import { isDeepStrictEqual } from "node:util";
import {
  type BaseMessage,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { StoreError } from "@scrollback/store-core";
import { hasMethods, invalid } from "@scrollback/store-core/driver";

/** The fields of LangChain's messages. The constructor's arguments may have others. */
const fields = [
  ...["content", "additional_kwargs", "response_metadata", "id", "name", "role"],
  ...["tool_calls", "invalid_tool_calls", "usage_metadata"],
  ...["tool_call_id", "status", "artifact", "metadata"],
];
/** Values that the stores keep. */
const builtIns = [Date, Map, Set, RegExp, URL, Error, ArrayBuffer];

/**
 * Returns the form in which a message is stored. Not LangChain's own `toDict`, which loses Dates, Maps and `contentBlocks`.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message, and for a message that LangChain restores differently.
 */
export function toStoredMessage(message: unknown, index: number): StoredMessage {
  const what = `addMessages: messages[${index}]`;
  if (hasMethods("toDict")(message)) invalid(`${what} is not a message; pass a message of LangChain`);
  const given = message as BaseMessage;
  const { type } = given;
  let stored: StoredMessage;
  let restored: BaseMessage | undefined;
  try {
    stored = { type, data: dataOf(given) };
    // LangChain changes the data that it restores.
    [restored] = mapStoredMessagesToChatMessages([{ type, data: dataOf(given) }]);
  } catch (cause) {
    const problem = `is a message of type "${type}", which LangChain does not restore`;
    throw new StoreError("INVALID_ARGUMENT", `${what} ${problem}; leave it out`, { cause });
  }
  const again: Readonly<Record<string, unknown>> = restored ? { ...dataOf(restored) } : {};
  for (const [field, value] of Object.entries(stored.data))
    if (!isKept(value, again[field]))
      invalid(`${what}: ${field} is not restored as it is; pass it as LangChain's constructor accepts it`);
  return stored;
}

/** Whether a value is restored. LangChain adds calls to content blocks, and the calls of content blocks to `tool_calls`. */
function isKept(given: unknown, restored: unknown): boolean {
  const same = Array.isArray(given) && Array.isArray(restored) ? restored.slice(0, given.length) : restored;
  return isDeepStrictEqual(same, given);
}

/** The arguments with which LangChain's constructor makes an equal message. */
function dataOf(message: BaseMessage): StoredMessage["data"] {
  const { contentBlocks: _, ...data }: Record<string, unknown> = { ...message.lc_kwargs };
  for (const field of fields)
    if (field in message) data[field] = (message as unknown as Readonly<Record<string, unknown>>)[field];
  const { output_version } = Object(data.response_metadata) as { output_version?: unknown };
  // The content of a streamed answer may be a string, of which LangChain makes a content block.
  if (output_version === "v1" && typeof data.content === "string")
    data.content = data.content === "" ? [] : [{ type: "text", text: data.content }];
  return plain(data, new Set()) as StoredMessage["data"];
}

/**
 * Copies a value without its undefined fields, of which LangChain's messages have many. An instance of a class becomes a plain
 * object of its fields, for example a `Document` in an artifact. One without fields stays, and the store refuses it.
 */
function plain(value: unknown, path: ReadonlySet<unknown>): unknown {
  if (typeof value !== "object" || value === null || path.has(value)) return value;
  const inner = new Set(path).add(value);
  if (Array.isArray(value)) return value.map((item) => plain(item, inner));
  if (ArrayBuffer.isView(value) || builtIns.some((type) => value instanceof type)) return value;
  const entries = Object.entries(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (entries.length === 0 && prototype !== Object.prototype && prototype !== null) return value;
  const defined = entries.filter(([, field]) => field !== undefined);
  return Object.fromEntries(defined.map(([key, field]) => [key, plain(field, inner)]));
}
