/** Where the focus goes as cards come, are answered and go: never nowhere. */

import { useEffect, useRef, type RefObject } from "react";

/** Focus comes to an open card when it appears, unless somebody is typing or is at another card. */
export function useArrival(ref: RefObject<HTMLElement | null>, pending: boolean): void {
  useEffect(() => {
    if (!pending) return;
    const active = document.activeElement;
    const idle = active === null || active === document.body || ((active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) && active.value === "");
    if (idle) ref.current?.focus({ preventScroll: true });
  }, [ref, pending]);
}

/**
 * A card that had the focus and is gone, because it is drawn anew elsewhere once it is answered: the focus goes to the card
 * that took its place, else to the message box. Run after each change of what is shown; the ref is of the message box's page.
 */
export function useFocusKept(...shown: readonly unknown[]): void {
  const held = useRef<string>(undefined);

  useEffect(() => {
    const note = (event: Event): void => {
      held.current = event.target instanceof Element ? event.target.closest<HTMLElement>(CARD)?.dataset.interrupt : undefined;
    };
    document.addEventListener("focusin", note);
    document.addEventListener("pointerdown", note);
    return () => {
      document.removeEventListener("focusin", note);
      document.removeEventListener("pointerdown", note);
    };
  }, []);

  useEffect(() => {
    if (held.current === undefined || (document.activeElement !== null && document.activeElement !== document.body)) return;
    const card = document.querySelector<HTMLElement>(`[data-interrupt="${CSS.escape(held.current)}"]`);
    // The message box would bring up a touch keyboard that nobody asked for.
    const box = window.matchMedia("(hover: hover)").matches ? document.getElementById("composer") : null;
    (card ?? box)?.focus({ preventScroll: true });
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what is shown is the caller's list
  }, shown);
}

const CARD = "[data-interrupt]";
