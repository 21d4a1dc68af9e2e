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
    let last = { top: 0, height: 0, room: 0 };
    const onScroll = (): void => {
      const now = { top: element.scrollTop, height: element.scrollHeight, room: element.clientHeight };
      const near = now.height - now.top - now.room <= NEAR_PX;
      // Content and room that change move the place as well; only going up in the same content is a person's wish.
      const went = now.top < last.top && now.height === last.height && now.room === last.room;
      last = now;
      if (near) pinned.current = true;
      else if (went) pinned.current = false;
      setAtEnd(pinned.current);
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
