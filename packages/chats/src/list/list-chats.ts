import { nameOf, rebuildLists } from "@scrollback/collections";
import { StoreError } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import type { ChatList, ChatSummary, Identified, ListChats } from "../chat.ts";
import { type Copying, isNear, isRunning, listedChat, type StoredSummary } from "../read/head.ts";
import { type ListedChat, memberOf } from "../read/listed-chat.ts";
import type { RunContext } from "../run/runs.ts";
import { indexOf, locationOf, prefixOf } from "../threads.ts";
import { deleteChat } from "./delete-chats.ts";

const DEFAULT_LIMIT = 20;
/** An unfinished copy in several commits that is older than this, or further ahead of the clock, is abandoned. A list removes it. */
const ABANDONED_AFTER_MS = 3_600_000;

/** One page of an owner's chats, newest first. */
export async function listChats<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  { limit = DEFAULT_LIMIT, cursor, archived = false, pinned, labels = {}, signal }: ListChats,
): Promise<ChatList> {
  const { lists, stores, onError } = context;
  const { facet, filter } = queryOf(context.indexedLabels, pinned, labels);
  const request = {
    ...{ limit, cursor, signal, direction: "down" as const },
    ...(filter && { filter }),
    isTold: isSummary,
    index: indexOf(nameOf(owner), archived, facet),
    memberOf: ({ key }: { key: string }) =>
      memberOf(context, locationOf(owner, key), (error) => onError(error, "list")),
  };
  try {
    const page = await lists.page(request);
    const chats = page.items.flatMap(({ member, told, snapshot }): ChatSummary[] => {
      if (typeof snapshot === "object") removeLeft(context, owner, snapshot);
      return told ? [listedChat(member.key, told, context)] : [];
    });
    return { chats, ...(page.cursor !== undefined && { cursor: page.cursor }) };
  } catch (error) {
    // The server has lost a part of the index.
    if (StoreError.is(error, "CORRUPT"))
      context.background(rebuildLists(stores, { prefix: prefixOf(nameOf(owner)) }));
    throw error;
  }
}

/** The list that has fewest other chats, and what to leave out of it. */
function queryOf(
  indexedLabels: readonly string[],
  pinned: boolean | undefined,
  labels: NonNullable<ListChats["labels"]>,
) {
  const wanted = Object.entries(labels);
  const indexed = wanted.find(([name]) => indexedLabels.includes(name));
  const facet = indexed ?? (pinned ? ("pinned" as const) : undefined);
  const others = wanted.filter((one) => one !== indexed);
  const isExact = others.length === 0 && (pinned === undefined || (pinned && facet === "pinned"));
  const filter = (chat: StoredSummary) =>
    (pinned === undefined || chat.pinned === pinned) &&
    others.every(([name, value]) => chat.labels[name] === value);
  return { facet, ...(!isExact && { filter }) };
}

/** Whether an entry tells what a list needs. */
function isSummary(told: unknown): boolean {
  const { title = "", labels, ...fields } = Object(told) as Partial<StoredSummary>;
  const { createdAt, updatedAt, activeAt, messageCount, pinned, archived } = fields;
  return (
    typeof title === "string" &&
    isObject(labels) === undefined &&
    [createdAt, updatedAt, activeAt, messageCount].every(Number.isFinite) &&
    typeof pinned === "boolean" &&
    typeof archived === "boolean"
  );
}

/** Removes what a process that died has left: an unfinished copy, the text of an answer. */
function removeLeft<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  { head: { id, copying, run } }: ListedChat,
): void {
  if (copying) removeAbandoned(context, owner, id);
  if (run && !isRunning(run, context.now()))
    context.background(context.streams.removeLost(locationOf(owner, id).threadId, run.id));
}

function removeAbandoned<M extends Identified>(context: RunContext<M>, owner: string, id: string): void {
  const isAbandoned = (copying: Copying | undefined) =>
    copying !== undefined && !isNear(copying.since, context.now(), ABANDONED_AFTER_MS);
  const isMeant = ({ head: { copying } }: ListedChat) => isAbandoned(copying);
  context.background(deleteChat(context, locationOf(owner, id), { isMeant }));
}
