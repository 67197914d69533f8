import { type RefObject, useLayoutEffect, useRef } from "react";

/**
 * Keeps the messages on the screen in place when earlier ones are added above them. Returns a function to call before earlier
 * messages are loaded. The correction happens with the render that adds them, however late this is.
 */
export function useKeptPosition(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
): () => void {
  const kept = useRef<{ element: HTMLElement; top: number } | undefined>(undefined);

  useLayoutEffect(() => {
    if (!kept.current) return;
    const { element, top } = kept.current;
    if (firstMessage(content.current) === element) return;
    kept.current = undefined;
    scroller.current?.scrollBy({ top: element.offsetTop - top });
  });

  return () => {
    const element = firstMessage(content.current);
    kept.current = element ? { element, top: element.offsetTop } : undefined;
  };
}

function firstMessage(content: HTMLElement | null): HTMLElement | null {
  return content?.querySelector<HTMLElement>("[data-message-id]") ?? null;
}
