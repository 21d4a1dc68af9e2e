/** Keeps the end of a growing list in view, until the person scrolls away from it. */

import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** This close to the end counts as the end. */
const NEAR_PX = 48;

export interface Stick {
  readonly scrollRef: RefObject<HTMLDivElement | null>;
  /** For the element that grows. It may come and go. */
  readonly contentRef: (element: HTMLDivElement | null) => void;
  readonly atEnd: boolean;
  readonly toEnd: () => void;
}

/** `content` changes whenever there is something new to follow. */
export function useStickToEnd(content: unknown): Stick {
  const scrollRef = useRef<HTMLDivElement>(null);
  const [grows, contentRef] = useState<HTMLDivElement | null>(null);
  const pinned = useRef(true);
  const [atEnd, setAtEnd] = useState(true);

  const toEnd = useCallback(() => {
    const element = scrollRef.current;
    pinned.current = true;
    if (element !== null) element.scrollTop = element.scrollHeight;
  }, []);

  useEffect(() => {
    const element = scrollRef.current;
    if (element === null) return;
    const onScroll = (): void => {
      const near = element.scrollHeight - element.scrollTop - element.clientHeight <= NEAR_PX;
      pinned.current = near;
      setAtEnd(near);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      element.removeEventListener("scroll", onScroll);
    };
  }, []);

  useEffect(() => {
    // Also follows what grows without new content: a keyboard that opens, a late layout.
    const observer = new ResizeObserver(() => {
      if (pinned.current) toEnd();
    });
    if (scrollRef.current !== null) observer.observe(scrollRef.current);
    if (grows !== null) observer.observe(grows);
    return () => {
      observer.disconnect();
    };
  }, [toEnd, grows]);

  useLayoutEffect(() => {
    if (pinned.current) toEnd();
  }, [content, toEnd]);

  return { scrollRef, contentRef, atEnd, toEnd };
}
