import { isId, isObject, isOneOf, isPositiveInteger, isTtl } from "../arguments.ts";
import { isRecordTime, recordProblem } from "../codec/record.ts";
import type { ThreadSnapshot } from "../driver/driver.ts";
import { StoreError } from "../errors.ts";
import { type Trimming, trimmings } from "../trimming/trimming.ts";

/** How a store trims and expires threads; part of its state. An absent field is not set. */
export interface StoreSettings {
  readonly maxMessages?: number;
  readonly trimming?: Trimming;
  /** Milliseconds. */
  readonly ttlMs?: number;
}

/**
 * A store as plain JSON: its thread, its kind of backend and its settings. It contains no credentials, hosts or message
 * text. Only the state of a memory store has `thread`, because its messages are stored nowhere else.
 */
export interface StoreState extends StoreSettings {
  readonly type: "scrollback.store";
  readonly version: 1;
  /** The backend's name, e.g. `redis`. A state is restored by a factory of the same backend. */
  readonly backend: string;
  readonly threadId: string;
  /** The thread's content, without its operation ids: a write that is repeated after a restore is made again. Absent if the thread did not exist. */
  readonly thread?: ThreadSnapshot;
}

/** Whether `updateFromState` ignores a state: null, undefined or `{}`. */
export function isNoState(state: unknown): boolean {
  return (
    state == null || (typeof state === "object" && !Array.isArray(state) && Object.keys(state).length === 0)
  );
}

/**
 * Validates a state of unknown origin.
 *
 * @param backend the backend that the state must belong to.
 * @throws StoreError `INVALID_STATE`; the message names the invalid field.
 */
export function parseState(state: unknown, backend: string): StoreState {
  const refuse = (problem: string): never => {
    throw new StoreError("INVALID_STATE", `state: ${problem}`);
  };
  if (typeof state !== "object" || state === null || Array.isArray(state)) {
    return refuse("must be an object that serialize() gave");
  }
  const fields = state as Record<string, unknown>;
  if (fields.type !== "scrollback.store") refuse(`type must be "scrollback.store"`);
  if (fields.version !== 1) refuse("version must be 1; was it written by a newer version of Scrollback?");
  if (fields.backend !== backend) {
    refuse(
      `backend must be "${backend}", the backend of this factory${typeof fields.backend === "string" ? `; this state is of "${fields.backend}"` : ""}`,
    );
  }
  const field = (name: string, problem: string | undefined) => problem && refuse(`${name} ${problem}`);
  field("threadId", isId(fields.threadId));
  if (fields.maxMessages !== undefined) field("maxMessages", isPositiveInteger(fields.maxMessages));
  if (fields.trimming !== undefined) field("trimming", isOneOf(...trimmings)(fields.trimming));
  if (fields.ttlMs !== undefined) field("ttlMs", isTtl(fields.ttlMs));
  if (fields.thread !== undefined) field("thread", checkSnapshot(fields.thread));
  return state as StoreState;
}

function checkSnapshot(snapshot: unknown): string | undefined {
  if (typeof snapshot !== "object" || snapshot === null) return "must be an object";
  const { messages, metadata, createdAt, updatedAt, expiresAt } = snapshot as Record<string, unknown>;
  if (!Array.isArray(messages) || messages.some((one) => isObject(one) ?? recordProblem(one))) {
    return "must have messages, each with kind, createdAt and text";
  }
  if (metadata !== undefined && (typeof metadata !== "string" || metadata === ""))
    return "must have metadata that is a text";
  if (isRecordTime(createdAt) ?? isRecordTime(updatedAt)) {
    return "must have createdAt and updatedAt in milliseconds since 1970";
  }
  return expiresAt === undefined || Number.isFinite(expiresAt)
    ? undefined
    : "must have expiresAt in milliseconds";
}
