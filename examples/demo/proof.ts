import { isDeepStrictEqual } from "node:util";
import { type ChatMessage, chatMessageTraits } from "@scrollback/store-core";

/** A message with its position in the conversation (first: 1). */
export interface Entry {
  readonly sequence: number;
  readonly message: ChatMessage;
}

/** A batch that the store acknowledged, and whether it was in the store already. */
export interface Acknowledged {
  readonly batch: number;
  readonly wasThere: boolean;
}

/** The result of a check. */
export interface Check {
  readonly holds: boolean;
  /** The finding, for a passed and for a failed check. */
  readonly finding: string;
}

/**
 * The content that a thread must have after these batches are committed one after the other with `maxMessages`. Does not use
 * the library's own trimming, so that the two can be compared.
 */
export function expectedEntries(batches: readonly (readonly ChatMessage[])[], maxMessages: number): Entry[] {
  let kept: Entry[] = [];
  let sequence = 0;
  for (const batch of batches) {
    kept = cut([...kept, ...batch.map((message) => ({ sequence: ++sequence, message }))], maxMessages);
  }
  return kept;
}

function cut(entries: readonly Entry[], maxMessages: number): Entry[] {
  if (entries.length <= maxMessages) return [...entries];
  const leading = maxMessages >= 2 && entries[0]?.message.role === "system" ? entries.slice(0, 1) : [];
  const newest = entries.slice(entries.length - maxMessages + leading.length);
  const bearsResult = ({ message }: Entry) =>
    message.role === "tool" || chatMessageTraits.toolResults(message).length > 0;
  const user = newest.findIndex((entry) => entry.message.role === "user" && !bearsResult(entry));
  const other = newest.findIndex((entry) => !bearsResult(entry));
  const start = user >= 0 ? user : other;
  // Results without their call are left out, even if nothing else is left.
  return [...leading, ...(start >= 0 ? newest.slice(start) : [])];
}

/**
 * Compares the content of the store with the expected content.
 *
 * Each added message gets the next number. So a batch that was lost or stored twice has shifted the numbers of all later
 * messages, even if the batch itself is trimmed by now.
 */
export function prove(
  stored: readonly Entry[],
  expected: readonly Entry[],
  total: number,
  batches: number,
  acknowledged: readonly Acknowledged[],
): Check[] {
  const newest = stored.at(-1)?.sequence ?? 0;
  const moved = stored.find(({ sequence }, index) => sequence !== expected[index]?.sequence);
  const other = stored.findIndex(
    ({ message }, index) => !isDeepStrictEqual(message, expected[index]?.message),
  );
  const isCounted = newest === total && moved === undefined;
  const isSame = stored.length === expected.length && other < 0;
  const done = new Set(acknowledged.map(({ batch }) => batch)).size;
  const repeated = acknowledged.filter(({ wasThere }) => wasThere).length;
  return [
    {
      holds: isCounted,
      finding: isCounted
        ? `nothing lost or doubled: ${total} messages added, the newest is number ${newest}`
        : `lost or doubled: ${total} messages added, but the newest is number ${newest}${moved ? `, and ${moved.sequence} is out of place` : ""}`,
    },
    {
      holds: isSame,
      finding: isSame
        ? `what is kept equals the end of the file, byte for byte (messages: ${stored.length})`
        : `${expected.length} messages should be kept, ${stored.length} are${other < 0 ? "" : `; kept message ${other + 1} is not the file's`}`,
    },
    {
      holds: done === batches,
      finding: `${done} of ${batches} batches acknowledged; repeats that changed nothing: ${repeated}`,
    },
  ];
}

/** The smallest value that the given share of the values does not exceed: 0.5 for the median. NaN for no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
