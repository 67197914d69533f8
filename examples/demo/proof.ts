import { isDeepStrictEqual } from "node:util";
import { type ChatMessage, chatMessageTraits } from "@scrollback/store-core";

/** A message with its place in the conversation, from 1. */
export interface Entry {
  readonly sequence: number;
  readonly message: ChatMessage;
}

/** A batch that the store acknowledged, and whether it had been there before. */
export interface Acknowledged {
  readonly batch: number;
  readonly wasThere: boolean;
}

/** Something that was checked. */
export interface Check {
  readonly holds: boolean;
  /** What was found, whether it holds or not. */
  readonly finding: string;
}

/**
 * What a thread must hold once these batches are committed one after the other with `maxMessages`. Written without the
 * library's own trimming, so that the two can be compared.
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
  return [...leading, ...newest.slice(Math.max(0, user >= 0 ? user : other))];
}

/**
 * Checks what the store holds against what it must hold.
 *
 * Each message that is added gets the next number, so a batch that was lost or counted twice, even one that is trimmed by
 * now, has moved the numbers of all that came after it.
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

/** The smallest of the values that so large a share of them does not exceed: 0.5 for the median. NaN for none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
