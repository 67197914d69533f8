import { hash } from "node:crypto";
import { hasMethods, isString } from "@scrollback/store-core/driver";
import { checkValue } from "@scrollback/store-core/internal";
import type { HistoryReducer } from "../../agent/history-reducer.ts";
import type { AgentChannel, ChatParticipant } from "../participant.ts";

/** The key of channels that are interchangeable if all these parts are equal: a digest of the parts. */
export function channelKey(...parts: readonly string[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);
}

const identities = new WeakMap<HistoryReducer, string>();
let identity = 0;

/** A text that is equal for interchangeable reducers: the same object, or the same class and settings. */
export function reducerKey(reducer: HistoryReducer | undefined): string {
  if (!reducer) return "";
  const type = reducer.constructor?.name ?? "";
  if (reducer.settings !== undefined) return `${type} ${JSON.stringify(reducer.settings)}`;
  const known = identities.get(reducer);
  if (known !== undefined) return known;
  identity += 1;
  const own = `${type} #${identity}`;
  identities.set(reducer, own);
  return own;
}

/** @throws StoreError `INVALID_ARGUMENT` for an invalid result of a participant's `createChannel`. */
export function checkChannel(value: unknown, agent: ChatParticipant): asserts value is AgentChannel {
  const name = `createChannel of agent "${agent.id}"`;
  checkValue(name, "result", hasMethods("receive", "invoke", "getHistory"), value);
  checkValue(name, "key", isString, (value as AgentChannel).key);
}
