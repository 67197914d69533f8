import type { StoreFactory } from "@scrollback/store-core";
import { encodeText } from "./formats/entry.ts";
import { ContentDigest } from "./formats/thread-file.ts";
import { threadPages } from "./thread-pages.ts";

/** A digest of a thread: its messages and their times, its metadata, and its own times. `null`: the thread does not exist. */
export async function digestThread(
  stores: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<string | null> {
  const digest = new ContentDigest();
  let isFirst = true;
  for await (const page of threadPages(stores, threadId, signal)) {
    if (page.revision === null) return null;
    if (isFirst) {
      const { createdAt, updatedAt, metadata } = page;
      digest.add(createdAt, updatedAt, metadata === undefined ? undefined : encodeText(metadata));
      isFirst = false;
    }
    for (const { createdAt, message } of page.entries) digest.add(createdAt, encodeText(message));
  }
  return digest.digest();
}
