import { useCallback, useEffect, useRef, useState } from "react";

const NEAR_PX = 48;

/** Keeps a scrolling element at its end while its content grows, until the reader scrolls up. */
export function useStickToEnd() {
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  const [isAtEnd, setIsAtEnd] = useState(true);

  const goToEnd = useCallback(() => {
    sticks.current = true;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, []);

  useEffect(() => {
    const element = scroller.current;
    if (element === null || content.current === null) return;
    const onScroll = () => {
      sticks.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
      setIsAtEnd(sticks.current);
    };
    const observer = new ResizeObserver(() => {
      if (sticks.current) element.scrollTo({ top: element.scrollHeight });
      else onScroll();
    });
    observer.observe(content.current);
    observer.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);

  return { scroller, content, isAtEnd, goToEnd };
}
