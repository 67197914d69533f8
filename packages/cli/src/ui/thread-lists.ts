import { isRunning } from "@scrollback/chats/internal";
import { entryValueOf, isListed } from "@scrollback/collections/internal";
import type { IndexEntry, StoreFactory, ThreadInfo } from "@scrollback/store-core";
import { skippingCorruptRecords } from "../context/open-backend.ts";
import { kindOfThread } from "../layers.ts";
import { hasIndex } from "../threads/listed-threads.ts";
import type { OwnerRows, ThreadRow, ThreadRows } from "./api-types.ts";
import { cutLine, decodeName, textIn } from "./texts.ts";

/** The number of threads on a page. */
const PAGE = 500;
/** The bounds of one search; the next call goes on. */
const SEARCH = { threads: 20_000, ms: 2_000, found: 200 };

/** A request for a page of a list. */
export interface ListQuery {
  /** Only threads whose title or id contains this text, in any case. */
  readonly query: string;
  readonly cursor: string | undefined;
  readonly signal: AbortSignal;
}

/** One page of threads, or of those that a search finds. Contents of files and other threads of Scrollback's own are left out. */
export async function listThreads(
  stores: StoreFactory<unknown>,
  { prefix, ...list }: ListQuery & { readonly prefix: string },
): Promise<ThreadRows> {
  return await pageOf(list, async (cursor) => {
    const problems = new Map<string | undefined, string>();
    const limit = list.query === "" ? PAGE : 1_000;
    const page = await skippingCorruptRecords(
      (error) => problems.set(error.threadId, error.message),
      () =>
        stores.listThreads({ prefix, limit, signal: list.signal, ...(cursor !== undefined && { cursor }) }),
    );
    const listed = page.threads.map((thread) => rowOf(thread, problems.get(thread.threadId)));
    for (const { threadId } of page.threads) problems.delete(threadId);
    // Of these, only the id is known.
    const damaged = [...problems].flatMap(([threadId, problem]) =>
      threadId === undefined ? [] : rowOf({ threadId }, problem),
    );
    const threads = [...listed, ...damaged].filter(({ threadId }) => !threadId.startsWith("scrollback:"));
    return { threads, scanned: page.threads.length, cursor: page.cursor };
  });
}

/** One page of the chats of an owner, newest first, as their list has them. */
export async function listChats(
  stores: StoreFactory<unknown>,
  { owner, isArchived, ...list }: ListQuery & { readonly owner: string; readonly isArchived: boolean },
): Promise<ThreadRows> {
  if (!hasIndex(stores)) return { threads: [], scanned: 0 };
  const index = stores.index(`chats:${isArchived ? "archived" : "open"}:${owner}`);
  return await pageOf(list, async (cursor) => {
    const { signal } = list;
    const page = await index.list({ direction: "down", signal, ...(cursor !== undefined && { cursor }) });
    const found = await Promise.all(page.entries.map((entry) => chatRow(stores, index.name, entry, signal)));
    const threads = found.flatMap((row) => row ?? []);
    return { threads, scanned: page.entries.length, cursor: page.cursor };
  });
}

/** One page of the owners that have chats. */
export async function listOwners(
  stores: StoreFactory<unknown>,
  { query, cursor, signal }: ListQuery,
): Promise<OwnerRows> {
  if (!hasIndex(stores)) return { owners: [] };
  const page = await stores.listIndexes({
    ...{ prefix: "chats:", limit: 1_000, signal },
    ...(cursor !== undefined && { cursor }),
  });
  const names = page.names.flatMap((name) => /^chats:(?:open|archived):([^:]+)$/.exec(name)?.[1] ?? []);
  const owners = [...new Set(names)].map((owner) => ({ owner, name: cutLine(decodeName(owner)) }));
  return {
    owners: owners.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase())),
    ...(page.cursor !== undefined && { cursor: page.cursor }),
  };
}

/** Reads pages until one has threads; a search, until it has found enough or has looked at many. */
async function pageOf(
  { query, cursor: first, signal }: ListQuery,
  read: (
    cursor: string | undefined,
  ) => Promise<{ threads: readonly ThreadRow[]; scanned: number; cursor: string | undefined }>,
): Promise<ThreadRows> {
  const wanted = query.toLowerCase();
  const isFound = ({ threadId, title = "", name }: ThreadRow) =>
    [threadId, title, name].some((text) => text.toLowerCase().includes(wanted));
  const end = performance.now() + SEARCH.ms;
  const threads: ThreadRow[] = [];
  let scanned = 0;
  let cursor = first;
  do {
    const page = await read(cursor);
    threads.push(...(wanted === "" ? page.threads : page.threads.filter(isFound)));
    scanned += page.scanned;
    cursor = page.cursor;
  } while (
    cursor !== undefined &&
    !signal.aborted &&
    (wanted === "" ? threads.length === 0 : threads.length < SEARCH.found) &&
    scanned < SEARCH.threads &&
    performance.now() < end
  );
  return { threads, scanned, ...(cursor !== undefined && { cursor }) };
}

/** A chat of a list. An entry that says nothing of it is of a chat that is being created or deleted, or lost a write: its head decides. */
async function chatRow(
  stores: StoreFactory<unknown>,
  index: string,
  entry: IndexEntry,
  signal: AbortSignal,
): Promise<ThreadRow | undefined> {
  const owner = index.split(":")[2] ?? "";
  const value = entryValueOf<unknown>(entry.value);
  const threadId = value?.threadId ?? `chats:chat:${owner}:${entry.key}`;
  if (entry.problem) return rowOf({ threadId }, entry.problem.message);
  if (value?.told !== undefined) return rowOf({ threadId, metadata: value.told }, undefined);
  let problem: string | undefined;
  const head = await skippingCorruptRecords(
    (error) => {
      problem = error.message;
    },
    () => stores.open(threadId).read({ limit: 0, signal }),
  );
  const { metadata, revision } = head;
  const isNamed = isListed(metadata) && metadata.listed.in[index] === entry.id;
  return revision !== null && (isNamed || problem !== undefined)
    ? rowOf({ ...head, threadId }, problem)
    : undefined;
}

/** A thread for a list. */
export function rowOf(
  { threadId, metadata, count, updatedAt }: Pick<ThreadInfo, "threadId"> & Partial<ThreadInfo>,
  problem: string | undefined,
): ThreadRow {
  const kind = kindOfThread(threadId, metadata);
  const chat = kind === "chat" ? (Object(metadata) as Record<string, unknown>) : {};
  const title = kind === "LangGraph thread" ? textIn(metadata, "threadId") : textIn(metadata, "title");
  const preview = textIn(chat.lastMessage, "text");
  const marks = [
    ...(chat.pinned === true ? ["pinned"] : []),
    ...(chat.archived === true ? ["archived"] : []),
    ...(chat.run === undefined ? [] : [runMark(chat.run)]),
  ];
  const messages = count ?? (typeof chat.messageCount === "number" ? chat.messageCount : undefined);
  const changed = updatedAt ?? (typeof chat.updatedAt === "number" ? chat.updatedAt : undefined);
  return {
    threadId,
    name: cutLine(nameIn(threadId)),
    ...(title !== undefined && { title: cutLine(title) }),
    ...(kind !== undefined && { kind }),
    ...(messages !== undefined && { count: messages }),
    ...(changed !== undefined && { updatedAt: changed }),
    ...(preview !== undefined && { preview: cutLine(preview) }),
    ...(marks.length > 0 && { marks }),
    ...(problem !== undefined && { problem: cutLine(problem) }),
  };
}

/** What a list says of the run of a chat: the process of one whose lease is over has probably died. */
function runMark(run: unknown): string {
  const { beatAt, leaseMs } = Object(run) as Record<string, unknown>;
  if (typeof beatAt !== "number" || typeof leaseMs !== "number") return "being answered";
  return isRunning({ beatAt, leaseMs }, Date.now()) ? "being answered" : "answer lost";
}

/** The id of a thread; of a chat, its own. */
function nameIn(threadId: string): string {
  const [, chatId] = /^chats:chat:[^:]*:([^:]*)$/.exec(threadId) ?? [];
  return chatId === undefined ? threadId : decodeName(chatId);
}
