import {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isId,
  isObject,
  isOneOf,
  isString,
} from "@scrollback/store-core/driver";
import { isBoolean, isFunction, isPositiveInteger, isTimerMs } from "@scrollback/store-core/internal";
import { isFileTypes } from "../convert/file-types.ts";
import { uiOptionChecks } from "../convert/ui-messages.ts";

const isChatStore: Check = (value) => hasMethods("of")(value) && "must be a ChatStore";
const isTitle: Check = (value) =>
  value === false || typeof value === "function" || typeof Object(value).model !== "undefined"
    ? undefined
    : "must have a model, or be a function or false";
const isModel: Check = (value) =>
  typeof value === "string" || isObject(value) === undefined
    ? undefined
    : "must be a model of the AI SDK or its id";
const isStreamOptions: Check = (value) => {
  const known = ["sendReasoning", "sendSources", "messageMetadata", "onError", "redactToolErrors"];
  const unknown = Object.keys(Object(value)).find((key) => !known.includes(key));
  return unknown === undefined
    ? isObject(value)
    : `has an unknown option "${unknown}"; known options are ${known.join(", ")}`;
};

/** The options that {@link beginTurn} and {@link createChatHandler} share. */
export const beginChecks = {
  ...uiOptionChecks,
  whileRunning: isOneOf("reject", "stop"),
  keepSiblings: isBoolean,
  onStale: isOneOf("reject", "append"),
  fileTypes: isFileTypes,
  generateMessageId: isFunction,
  callbackMs: isTimerMs,
};

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkHandlerOptions(options: unknown): void {
  const checks = {
    ...beginChecks,
    chats: isChatStore,
    model: isModel,
    agent: hasMethods("stream"),
    generate: isFunction,
    instructions: isString,
    reducer: hasMethods("reduce"),
    streams: hasMethods("publish", "resume", "stop", "onStop"),
    title: isTitle,
    stream: isStreamOptions,
    maxMessageBytes: isPositiveInteger,
    allowImport: isBoolean,
    onError: isFunction,
  };
  checkOptions("createChatHandler", options, checks, ["chats"]);
  const { model, agent, generate, instructions } = options as Record<string, unknown>;
  if ([model, agent, generate].filter((one) => one !== undefined).length !== 1)
    invalid("createChatHandler: pass exactly one of model, agent and generate");
  if (instructions !== undefined && model === undefined)
    invalid("createChatHandler: instructions need model; an agent has its own");
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkContext(method: string, context: unknown): void {
  const { owner, waitUntil = () => undefined } = Object(context);
  const problem = isId(owner);
  // A promise that nobody awaits ends the process if it rejects.
  if (owner instanceof Promise) owner.catch(() => undefined);
  if (problem) invalid(`${method}: owner ${problem}; take it from the session of the user`);
  if (typeof waitUntil !== "function") invalid(`${method}: waitUntil must be a function`);
}
