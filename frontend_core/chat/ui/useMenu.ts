/** A menu button's behaviour: opens, closes on Escape, outside clicks and leaving by Tab; arrows move inside. */

import { useEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { isKey } from "./keys";

export interface Menu {
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
  readonly rootRef: RefObject<HTMLDivElement | null>;
  readonly buttonRef: RefObject<HTMLButtonElement | null>;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

export function useMenu(): Menu {
  const [open, setOpen] = useState(false);
  const rootRef = useRef<HTMLDivElement>(null);
  const buttonRef = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!open) return;
    items(rootRef.current)[0]?.focus();
    const onPointer = (event: PointerEvent): void => {
      if (event.target instanceof Node && !rootRef.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", onPointer);
    return () => {
      document.removeEventListener("pointerdown", onPointer);
    };
  }, [open]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (!open) return;
    if (isKey(event.nativeEvent, "Escape")) {
      event.stopPropagation();
      setOpen(false);
      buttonRef.current?.focus();
    } else if (event.key === "Tab") {
      setOpen(false);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const all = items(rootRef.current);
      const here = all.findIndex((item) => item === document.activeElement);
      const step = event.key === "ArrowDown" ? 1 : -1;
      all[(here + step + all.length) % all.length]?.focus();
    }
  };

  return { open, setOpen, rootRef, buttonRef, onKeyDown };
}

function items(root: HTMLElement | null): HTMLElement[] {
  return [...(root?.querySelectorAll<HTMLElement>("[role^='menuitem']") ?? [])];
}
