import { type ChatMessage, chatMessageTraits, jsonCodec } from "@scrollback/store-core";
import { RecentMap, sha256 } from "@scrollback/store-core/internal";

/** The message that replaces the messages that it summarises. Its metadata make it a compaction for `chatMessageTraits`. */
export function summaryMessage(summary: string): ChatMessage {
  return { role: "assistant", content: summary, metadata: { type: "scrollback.summary" } };
}

/** The summary in a message, or undefined for any other message. */
export function summaryIn(message: ChatMessage): string | undefined {
  const { role, content } = message;
  return chatMessageTraits.isCompaction(message) && role === "assistant" && typeof content === "string"
    ? content
    : undefined;
}

/** The number of summaries that a reducer caches. */
export const CACHE_SIZE = 1_000;

/**
 * Caches summaries by the digest of the covered messages, so that a caller with the full history has only new messages
 * summarised.
 */
export class SummaryCache {
  readonly #summaries = new RecentMap<string>(CACHE_SIZE);

  /** Finds the summary of the longest beginning with at most `longest` messages; `covered` is its length. */
  find(digests: readonly string[], longest: number): { summary: string; covered: number } | undefined {
    for (let covered = longest; covered > 0; covered--) {
      const summary = this.#summaries.get(digests[covered] ?? "");
      if (summary !== undefined) return { summary, covered };
    }
    return undefined;
  }

  add(digest: string, summary: string): void {
    this.#summaries.set(digest, summary);
  }
}

/**
 * Digests of the beginnings of a history, by length from 0, starting from an earlier summary if there is one. They cover
 * role, author and content, but not for example times. They end before a message that no codec can encode.
 */
export function digestsOf(messages: readonly ChatMessage[], earlier: string | undefined): string[] {
  let digest = sha256(earlier === undefined ? "" : `after ${earlier}`);
  const digests = [digest];
  for (const { role, authorName = null, content } of messages) {
    let text: string;
    try {
      text = jsonCodec.encode([role, authorName, content]);
    } catch {
      break;
    }
    digest = sha256(`${digest}${text}`);
    digests.push(digest);
  }
  return digests;
}
