import { useCallback, useEffect, useRef, useState } from "react";
import { type ChatPatch, type ChatSummary, client } from "../api.ts";

const PAGE = 20;
const PINNED_LIMIT = 100;
const RUNNING_REFRESH_MS = 3_000;

interface Loaded {
  readonly status: "loading" | "ready" | "failed";
  readonly pinned: readonly ChatSummary[];
  readonly chats: readonly ChatSummary[];
  /** Where more chats begin; undefined at the end. */
  readonly cursor?: string | undefined;
}

const EMPTY: Loaded = { status: "loading", pinned: [], chats: [] };
export type ChatListOfOwner = ReturnType<typeof useChatList>;

/** The owner's chats, newest first, pinned chats separately; with `archived`, those of the archive. */
export function useChatList(archived: boolean) {
  const [list, setList] = useState<Loaded>(EMPTY);
  // Only the newest request may change the list.
  const newest = useRef(0);
  const shown = useRef(list);
  shown.current = list;

  const refresh = useCallback(async () => {
    newest.current += 1;
    const mine = newest.current;
    try {
      const limit = Math.max(PAGE, shown.current.chats.length);
      const [pinned, { chats, cursor }] = await Promise.all([
        archived ? { chats: [] } : client.list({ archived, pinned: true, limit: PINNED_LIMIT }),
        client.list(archived ? { archived, limit } : { archived, pinned: false, limit }),
      ]);
      if (mine !== newest.current) return;
      setList({ status: "ready", pinned: pinned.chats, chats, cursor });
    } catch {
      if (mine === newest.current) setList((now) => ({ ...now, status: "failed" }));
    }
  }, [archived]);

  useEffect(() => {
    shown.current = EMPTY;
    setList(EMPTY);
    void refresh();
    const onFocus = () => void refresh();
    window.addEventListener("focus", onFocus);
    return () => window.removeEventListener("focus", onFocus);
  }, [refresh]);

  const isRunning = [...list.pinned, ...list.chats].some(({ run }) => run?.state === "running");
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => void refresh(), RUNNING_REFRESH_MS);
    return () => clearInterval(timer);
  }, [isRunning, refresh]);

  const loadMore = useCallback(async () => {
    const { cursor } = shown.current;
    if (cursor === undefined) return;
    newest.current += 1;
    const mine = newest.current;
    const query = archived ? { archived } : { archived, pinned: false };
    const page = await client.list({ ...query, limit: PAGE, cursor });
    if (mine !== newest.current) return;
    setList((now) => ({ ...now, chats: [...now.chats, ...page.chats], cursor: page.cursor }));
  }, [archived]);

  const update = useCallback(
    async (chatId: string, patch: ChatPatch) => {
      const apply = (chats: readonly ChatSummary[]) =>
        chats.map((chat) => (chat.id === chatId ? { ...chat, ...patch } : chat));
      setList((now) => ({ ...now, pinned: apply(now.pinned), chats: apply(now.chats) }));
      try {
        return await client.update(chatId, patch);
      } finally {
        await refresh();
      }
    },
    [refresh],
  );

  const remove = useCallback(
    async (chatId: string) => {
      await client.delete(chatId);
      await refresh();
    },
    [refresh],
  );

  return { ...list, refresh, loadMore, update, remove };
}
