import { useCallback, useEffect, useRef, useState } from "react";
import { useMediaQuery } from "./use-media-query.ts";

export const NARROW = "(max-width: 56rem)";

/** The sidebar: beside the chat on wide screens, over it on narrow ones. */
export function useDrawer() {
  const isDrawer = useMediaQuery(NARROW);
  const [isWanted, setIsWanted] = useState(false);
  const panel = useRef<HTMLElement>(null);
  const opener = useRef<Element>(null);
  const isOpen = isDrawer && isWanted;

  const open = useCallback(() => {
    opener.current = document.activeElement;
    setIsWanted(true);
  }, []);
  const close = useCallback(() => setIsWanted(false), []);

  useEffect(() => {
    if (!isOpen) return;
    panel.current?.querySelector("button")?.focus();
    const onKeyDown = (event: KeyboardEvent) => {
      // A menu or a dialog over the drawer closes first.
      if (event.key === "Escape" && !document.querySelector(":popover-open, dialog[open]")) close();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      if (opener.current instanceof HTMLElement) opener.current.focus();
    };
  }, [isOpen, close]);

  return { panel, isDrawer, isOpen, isHidden: isDrawer && !isOpen, open, close };
}
