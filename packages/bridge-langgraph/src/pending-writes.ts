import {
  compareWritesSortKeys,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import { envelope, valueOf as valueOfEnvelope } from "@scrollback/collections";
import type { MessageStore } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import {
  encodeValue,
  type PartsById,
  sizeOf,
  splitValue,
  type TypedValue,
  type ValueInParts,
  type ValuePart,
} from "./typed-value.ts";

/** The number of parts that fit into one commit on every backend. */
const PARTS_PER_COMMIT = 8;
/** Writes above one of these sizes are stored in parts. In characters or bytes: of one value, and of a call's values together. */
const INLINE = { value: 64 * 1_024, call: 512 * 1_024 };

/** The stored form of a write: its index, its channel and its value. */
type StoredWrite = readonly [index: number, channel: string, value: TypedValue | ValueInParts];

/** The writes of one task, as one message. */
interface TaskWrites {
  readonly kind: "writes";
  readonly taskId: string;
  readonly taskPath: string;
  readonly writes: readonly StoredWrite[];
}

/** A pending write, with its value in the stored form. */
export interface StoredPendingWrite {
  readonly taskId: string;
  readonly channel: string;
  readonly value: TypedValue | ValueInParts;
}

/** The content of a thread of attachments. */
export interface AttachmentsView {
  /** In the order in which LangGraph applies them. */
  readonly writes: readonly StoredPendingWrite[];
  readonly parts: PartsById;
}

/** Writes parts of values, and their references in the last commit. The parts are invisible until then. */
export async function addParts(
  store: MessageStore,
  parts: readonly ValuePart[],
  last: readonly TaskWrites[] = [],
): Promise<void> {
  const messages = [...parts, ...last].map((value) => envelope("user", value));
  for (let start = 0; start < messages.length; start += PARTS_PER_COMMIT)
    await store.addMessages(messages.slice(start, start + PARTS_PER_COMMIT));
}

/** Serializes the writes of a task. @throws StoreError `INVALID_ARGUMENT` that names the channel. */
export async function encodeWrites(
  serde: SerializerProtocol,
  writes: readonly PendingWrite[],
): Promise<(readonly [index: number, channel: string, value: TypedValue])[]> {
  return await Promise.all(
    writes.map(async ([channel, value], place) => {
      const index = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined;
      const what = `putWrites: channel ${JSON.stringify(channel)}`;
      return [index ?? place, channel, await encodeValue(serde, value, what)] as const;
    }),
  );
}

/** Adds the writes of a task. They become visible in one commit. */
export async function addWrites(
  store: MessageStore,
  taskId: string,
  taskPath: string,
  writes: readonly (readonly [index: number, channel: string, value: TypedValue])[],
): Promise<void> {
  const parts: ValuePart[] = [];
  let room = INLINE.call;
  const stored = writes.map(([index, channel, value]): StoredWrite => {
    const size = sizeOf(value);
    if (size <= Math.min(INLINE.value, room)) {
      room -= size;
      return [index, channel, value];
    }
    const split = splitValue(value);
    parts.push(...split.parts);
    return [index, channel, split.value];
  });
  await addParts(store, parts, [{ kind: "writes", taskId, taskPath, writes: stored }]);
}

/** Reads the attachments of a checkpoint; empty if it has none. */
export async function readAttachments(store: MessageStore): Promise<AttachmentsView> {
  const parts = new Map<string, ValuePart[]>();
  const tasks: TaskWrites[] = [];
  for (const message of await store.listMessages()) {
    const stored = valueOfEnvelope<ValuePart | TaskWrites>(message, isObject);
    if (stored.kind === "writes") {
      tasks.push(stored);
      continue;
    }
    const ofValue = parts.get(stored.id) ?? [];
    ofValue.push(stored);
    parts.set(stored.id, ofValue);
  }
  return { writes: resolve(tasks), parts };
}

/**
 * Returns the effective writes. Of several with one index of one task, the first one is effective, so that a repeated task writes
 * once; of special ones (errors, interrupts, resumes; index below 0), the last one.
 */
function resolve(tasks: readonly TaskWrites[]): StoredPendingWrite[] {
  const found = new Map<string, StoredPendingWrite & { readonly key: ReturnType<typeof writesSortKey> }>();
  for (const { taskId, taskPath, writes } of tasks) {
    for (const [index, channel, value] of writes) {
      const name = JSON.stringify([taskId, index]);
      if (index >= 0 && found.has(name)) continue;
      found.set(name, { key: writesSortKey(taskPath, taskId, index), taskId, channel, value });
    }
  }
  return [...found.values()]
    .sort((a, b) => compareWritesSortKeys(a.key, b.key))
    .map(({ taskId, channel, value }) => ({ taskId, channel, value }));
}
