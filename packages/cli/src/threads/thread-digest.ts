import { createHash } from "node:crypto";
import { isListed } from "@scrollback/collections/internal";
import type { StoreFactory } from "@scrollback/store-core";
import { ThreadReader } from "@scrollback/store-core/internal";
import { encodeText } from "../formats/entry.ts";

/**
 * A digest of a thread: its messages and their times, its metadata, and its own times, but not the entries that list it, which each backend
 * has of its own. `null`: the thread does not exist.
 */
export async function digestThread(
  stores: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<string | null> {
  const reader = await ThreadReader.begin(stores.open(threadId), { signal });
  const { revision, createdAt, updatedAt, metadata } = reader.newest;
  if (revision === null) return null;
  const digest = createHash("sha256");
  // As JSON, so that different lists have different texts.
  const add = (...parts: unknown[]) => digest.update(JSON.stringify(parts));
  add(createdAt, updatedAt, metadata === undefined ? undefined : encodeText(withoutEntries(metadata)));
  for await (const page of reader.pages())
    for (const entry of page) add(entry.createdAt, encodeText(entry.message));
  return digest.digest("base64url");
}

function withoutEntries(metadata: unknown): unknown {
  if (!isListed(metadata)) return metadata;
  const { in: places, left: _left, ...listed } = metadata.listed;
  return { ...metadata, listed: { ...listed, in: Object.keys(places).sort() } };
}
