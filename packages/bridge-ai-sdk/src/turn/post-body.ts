import { invalid, isId, isObject, isOneOf, isString } from "@scrollback/store-core/driver";
import { checkValue, isBoolean } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";
import { lastUserId, parentIdOf } from "../parent-id.ts";

/** A body that a client posts, with a checked shape. Its message is not validated yet. */
export interface PostBody {
  readonly chatId: string;
  readonly isRegenerate: boolean;
  /** The message to handle. */
  readonly message: unknown;
  /** The message that the client has before it, which may contain decisions about tool calls. All others are ignored. */
  readonly answer: unknown;
  readonly messageId: string | undefined;
  /** The id that the client expects for the last stored message; undefined if it sends none. */
  readonly parentId: string | null | undefined;
  /** The ids of the messages that the client shows before it, if it sends them. */
  readonly shownIds: readonly string[];
  /** The user's newest message that the client knows; undefined if it sends none. */
  readonly lastUserMessageId: string | undefined;
  readonly isBranch: boolean;
  /** All other fields. */
  readonly rest: Readonly<Record<string, unknown>>;
}

const isParentId = (value: unknown) => (value === null ? undefined : isId(value));
const isMessageList = (value: unknown) =>
  Array.isArray(value) && value.every((one) => isObject(one) === undefined)
    ? undefined
    : "must be an array of messages";
const checks = {
  id: isId,
  trigger: isOneOf("submit-message", "regenerate-message"),
  message: isObject,
  messages: isMessageList,
  messageId: isString,
  parentId: isParentId,
  lastUserMessageId: isId,
  branch: isBoolean,
};

/** @throws StoreError `INVALID_ARGUMENT`. */
export function parsePostBody(body: unknown): PostBody {
  checkValue("chat", "the body", isObject, body);
  const fields = body as Record<string, unknown>;
  for (const [name, check] of Object.entries(checks))
    if (name === "id" || fields[name] !== undefined) checkValue("chat", name, check, fields[name]);
  const { id, trigger, message: given, messages, messageId, parentId, ...others } = fields;
  const { lastUserMessageId, branch = false, ...rest } = others;
  const list = (messages ?? []) as UIMessage[];
  const found = messageId === undefined ? -1 : list.findIndex((one) => one?.id === messageId);
  const index = found < 0 ? list.length - 1 : found;
  const message = given ?? list[index];
  const isRegenerate = trigger === "regenerate-message";
  if (message === undefined && !isRegenerate) invalid("chat: message is missing; send message or messages");
  // Without `messageId` the last answer is made again, so the list ends with the question that the client shows last.
  const shown = isRegenerate && messageId === undefined ? lastUserId(list) : undefined;
  const derived = given === undefined && messages !== undefined ? parentIdOf(list, index) : undefined;
  return {
    chatId: id as string,
    isRegenerate,
    message,
    answer: list[index - 1],
    messageId: messageId as string | undefined,
    parentId: parentId === undefined ? derived : (parentId as string | null),
    shownIds: parentId === undefined ? list.slice(0, Math.max(index, 0)).map(({ id }) => id) : [],
    lastUserMessageId: (lastUserMessageId as string | undefined) ?? shown,
    isBranch: branch as boolean,
    rest,
  };
}
