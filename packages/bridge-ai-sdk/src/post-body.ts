import { type Check, invalid, isBoolean, isId, isObject, isOneOf, isString } from "@scrollback/store-core";
import type { UIMessage } from "ai";
import { parentIdOf } from "./parent-id.ts";

/** What a client posts, by its shape; its message is not validated yet. */
export interface PostBody {
  readonly chatId: string;
  readonly isRegenerate: boolean;
  /** The message that the request is about. All others that the client sends are ignored. */
  readonly message: unknown;
  readonly messageId: string | undefined;
  /** The message that the client takes for the last stored one; undefined where it does not say. */
  readonly parentId: string | null | undefined;
  readonly isBranch: boolean;
  /** What else there is. */
  readonly rest: Readonly<Record<string, unknown>>;
}

const isParentId = (value: unknown) => (value === null ? undefined : isId(value));
const isMessageList = (value: unknown) =>
  Array.isArray(value) && value.every((one) => isObject(one) === undefined)
    ? undefined
    : "must be an array of messages";
/** Paths of URLs lose the segments "." and "..": no route would find such a chat. */
export const isChatId: Check = (value) =>
  value === "." || value === ".." ? `must not be "${value}"` : isId(value);
const checks = {
  id: isChatId,
  trigger: isOneOf("submit-message", "regenerate-message"),
  message: isObject,
  messages: isMessageList,
  messageId: isString,
  parentId: isParentId,
  branch: isBoolean,
};

/** @throws StoreError `INVALID_ARGUMENT`. */
export function parsePostBody(body: unknown): PostBody {
  const problem = isObject(body);
  if (problem) invalid(`chat: the body ${problem}`);
  const fields = body as Record<string, unknown>;
  for (const [name, check] of Object.entries(checks)) {
    const wrong = name === "id" || fields[name] !== undefined ? check(fields[name]) : undefined;
    if (wrong) invalid(`chat: ${name} ${wrong}`);
  }
  const { id, trigger, message: given, messages, messageId, parentId, branch = false, ...rest } = fields;
  const list = (messages ?? []) as UIMessage[];
  const found = messageId === undefined ? -1 : list.findIndex((one) => one?.id === messageId);
  const index = found < 0 ? list.length - 1 : found;
  const message = given ?? list[index];
  const isRegenerate = trigger === "regenerate-message";
  if (message === undefined && !isRegenerate) invalid("chat: message is missing; send message or messages");
  const derived = given === undefined && messages !== undefined ? parentIdOf(list, index) : undefined;
  return {
    chatId: id as string,
    isRegenerate,
    message,
    messageId: messageId as string | undefined,
    parentId: parentId === undefined ? derived : (parentId as string | null),
    isBranch: branch as boolean,
    rest,
  };
}
