import { useCallback, useEffect, useState } from "react";

/** The chat of the address `/chat/<id>`; undefined at `/`. */
function readRoute(): string | undefined {
  const [, id] = /^\/chat\/([^/]+)$/.exec(location.pathname) ?? [];
  return id === undefined ? undefined : decodeURIComponent(id);
}

export const chatPath = (chatId: string | undefined) =>
  chatId === undefined ? "/" : `/chat/${encodeURIComponent(chatId)}`;

/** The chat in the address, and the function that opens another one. */
export function useRoute() {
  const [chatId, setChatId] = useState(readRoute);
  useEffect(() => {
    const onPopState = () => setChatId(readRoute());
    window.addEventListener("popstate", onPopState);
    return () => window.removeEventListener("popstate", onPopState);
  }, []);
  const go = useCallback((next: string | undefined, options?: { replace: boolean }) => {
    if (options?.replace) history.replaceState(null, "", chatPath(next));
    else history.pushState(null, "", chatPath(next));
    setChatId(next);
  }, []);
  return { chatId, go };
}
