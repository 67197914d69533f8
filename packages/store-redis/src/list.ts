import { StoreError } from "@scrollback/store-core";
import type { ListRequest, ThreadListing, ThreadView } from "@scrollback/store-core/driver";
import { messagesPattern, threadIdOf } from "./keys.ts";
import { type KeySource, scanPage } from "./scan.ts";

/** A page ends early after this number of metadata characters. */
const METADATA_PER_PAGE = 4 * 1024 ** 2;

/** What a listing needs from its driver. */
export interface ListSource extends KeySource {
  readonly keyPrefix: string;
  read(threadId: string): Promise<ThreadView>;
}

/** Lists one page: scans the keys of threads, and reads each thread that it finds. */
export async function listThreads(request: ListRequest, source: ListSource): Promise<ThreadListing> {
  const threads: ThreadListing["threads"][number][] = [];
  const corrupt: NonNullable<ThreadListing["corrupt"]>[number][] = [];
  let metadataLength = 0;
  const take = async (key: string) => {
    const threadId = threadIdOf(source.keyPrefix, key);
    try {
      const { revision, count, createdAt, updatedAt, expiresAt, metadata } = await source.read(threadId);
      if (revision === null) return;
      metadataLength += metadata?.length ?? 0;
      threads.push({ threadId, count, createdAt, updatedAt, expiresAt, metadata });
    } catch (error) {
      if (!StoreError.is(error, "CORRUPT")) throw error;
      corrupt.push({ threadId, problem: error.message });
    }
  };
  const cursor = await scanPage(source, request, {
    caller: "listThreads",
    pattern: (clientPrefix) => messagesPattern(clientPrefix, source.keyPrefix, request.prefix),
    room: () => (metadataLength >= METADATA_PER_PAGE ? 0 : request.limit - threads.length - corrupt.length),
    take,
  });
  return { threads, corrupt, ...(cursor !== undefined && { cursor }) };
}
