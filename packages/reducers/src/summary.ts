import { hash } from "node:crypto";
import { type ChatMessage, jsonCodec } from "@scrollback/store-core";

/** What a summary's `metadata` is. It lasts: stored histories hold it. */
const SUMMARY_MARK = Object.freeze({ type: "scrollback.summary" });

/** The message that stands in a history for those that it sums up. */
export function summaryMessage(summary: string): ChatMessage {
  return { role: "assistant", content: summary, metadata: { ...SUMMARY_MARK } };
}

/** The summary that a message is, or nothing for any other message. */
export function summaryIn({ role, content, metadata }: ChatMessage): string | undefined {
  const isMarked =
    typeof metadata === "object" &&
    metadata !== null &&
    "type" in metadata &&
    metadata.type === SUMMARY_MARK.type;
  return isMarked && role === "assistant" && typeof content === "string" ? content : undefined;
}

/** Remembers the newest summaries by what they cover, so that a caller with the full history pays for what is new only. */
export class SummaryMemory {
  static readonly capacity = 1_000;
  /** By digest, the one that was used last at the end. */
  readonly #summaries = new Map<string, string>();

  /** The summary of the longest beginning, at most `longest` messages of it, that is remembered; `covered` is its length. */
  recall(digests: readonly string[], longest: number): { summary: string; covered: number } | undefined {
    for (let covered = longest; covered > 0; covered--) {
      const digest = digests[covered] ?? "";
      const summary = this.#summaries.get(digest);
      if (summary === undefined) continue;
      this.remember(digest, summary);
      return { summary, covered };
    }
    return undefined;
  }

  remember(digest: string, summary: string): void {
    this.#summaries.delete(digest);
    this.#summaries.set(digest, summary);
    if (this.#summaries.size <= SummaryMemory.capacity) return;
    for (const oldest of this.#summaries.keys()) {
      this.#summaries.delete(oldest);
      return;
    }
  }
}

/**
 * Digests of the beginnings of a history, by their length from 0 on, that started from an earlier summary where there is
 * one. They tell what was said by whom, and not, for one, when. They end before a message that no codec carries.
 */
export function digestsOf(messages: readonly ChatMessage[], earlier: string | undefined): string[] {
  let digest = hash("sha256", earlier === undefined ? "" : `after ${earlier}`, "base64url");
  const digests = [digest];
  for (const { role, authorName = null, content } of messages) {
    let text: string;
    try {
      text = jsonCodec.encode([role, authorName, content]);
    } catch {
      break;
    }
    digest = hash("sha256", `${digest}${text}`, "base64url");
    digests.push(digest);
  }
  return digests;
}
