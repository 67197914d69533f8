import { partsOf, partThreads } from "@scrollback/collections/internal";
import { shownSize } from "../output/figures.ts";
import type { ThreadLink } from "./api-types.ts";
import { cutLine, shownTimeOf, textIn } from "./texts.ts";

/** Messages that a chat keeps beside its path, after an edit or a regeneration. */
export interface Sibling {
  readonly link: ThreadLink;
  /** The id of the message that has their place on the path. */
  readonly beside: string | undefined;
}

/** The siblings that the head of a chat names. */
export function siblingsIn(threadId: string, metadata: unknown): Sibling[] {
  const parts = Object((Object(metadata) as { parts?: unknown }).parts) as Record<string, unknown>;
  const threads = partThreads(threadId, metadata);
  return partsOf(metadata).map((part, index) => {
    const { first, leftAt, bytes, in: of, beside } = Object(parts[part]) as Record<string, unknown>;
    const behind = textIn(parts[part], "behind");
    const facts = [
      `Sibling ${firstIn(first) ?? part}`,
      behind === undefined ? "at the beginning" : `after ${behind}`,
      ...(typeof leftAt === "number" ? [`left ${shownTimeOf(leftAt)}`] : []),
      ...(typeof bytes === "number" ? [shownSize(bytes)] : []),
    ];
    const link = { threadId: threads[index] ?? "", label: cutLine(facts.join(", ")) };
    return { link, beside: of === undefined ? firstIn(beside) : undefined };
  });
}

/** The id of an id and a time. */
function firstIn(value: unknown): string | undefined {
  const [id] = Array.isArray(value) ? value : [];
  return typeof id === "string" ? id : undefined;
}
