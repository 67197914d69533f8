import { randomUUID } from "node:crypto";
import type { CheckpointMessage, WritesMessage } from "./log-message.ts";

/** The number of checkpoints with early writes that the metadata of a log names. */
const MOST_EARLY = 64;

/** The metadata of a log's thread. */
export interface LogFormat {
  readonly version: 1;
  /** Random; another one after the log was created anew or pruned. Positions are valid within one. */
  readonly epoch: string;
  /** When the registration of the log expires, in milliseconds since 1970; absent: never. */
  readonly registeredUntil?: number | undefined;
  /** The log was created, and its registration is not confirmed yet. It has no messages. */
  readonly isUnconfirmed?: true;
  /** The checkpoints that are not in the log yet and have pending writes, with the position of the first ones. Not all of very many. */
  readonly early?: Readonly<Record<string, number>>;
  /** The position of the first pending writes that `early` has no room for. */
  readonly earlyFrom?: number;
}

/** What a writer adds to a log. */
export interface AddedMessage {
  readonly message: CheckpointMessage | WritesMessage;
  readonly position: number;
  /** Whether these are writes of a checkpoint that is not in the log. */
  readonly isEarly: boolean;
}

/** The format of a log after a message was added. */
export function formatAfter(before: LogFormat, added: AddedMessage): LogFormat {
  const { message, position, isEarly } = added;
  const early = new Map(Object.entries(before.early ?? {}));
  if (message.kind === "checkpoint") early.delete(message.id);
  else if (isEarly && !early.has(message.checkpointId)) early.set(message.checkpointId, position);
  return formatOf({ ...before, early });
}

/** A format without what it needs not say. */
export function formatOf({
  epoch = randomUUID(),
  registeredUntil,
  early,
  earlyFrom = Number.POSITIVE_INFINITY,
}: Partial<Pick<LogFormat, "epoch" | "registeredUntil" | "earlyFrom">> & {
  readonly early: ReadonlyMap<string, number>;
}): LogFormat {
  const named = [...early].slice(0, MOST_EARLY);
  const from = Math.min(earlyFrom, ...[...early.values()].slice(MOST_EARLY));
  return {
    ...{ version: 1, epoch },
    ...(registeredUntil !== undefined && { registeredUntil }),
    ...(named.length > 0 && { early: Object.fromEntries(named) }),
    ...(Number.isFinite(from) && { earlyFrom: from }),
  };
}
