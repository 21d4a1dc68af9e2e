/** Brand, new chat, conversations. On a small screen a drawer that Escape and a tap beside it close. */

import { useEffect, useRef } from "react";
import type { ThreadListState } from "../threads/threadList";
import { ThreadListView } from "../threads/ThreadListView";
import { IconButton } from "../ui/Button";
import { BrandMark, CloseIcon, PlusIcon } from "../ui/icons";
import { isKey } from "../ui/keys";
import styles from "./shell.module.css";

/** From here on the side bar is no drawer (see shell.module.css). */
const WIDE = "(min-width: 861px)";

interface SidebarProps {
  readonly open: boolean;
  readonly list: ThreadListState;
  readonly currentId: string;
  readonly onClose: () => void;
  readonly onNew: () => void;
  readonly onOpen: (threadId: string) => void;
  readonly onDelete: (threadId: string) => void;
  readonly onReload: () => void;
}

export function Sidebar({ open, list, currentId, onClose, onNew, onOpen, onDelete, onReload }: SidebarProps) {
  const newRef = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!open) return;
    newRef.current?.focus();
    const onKeyDown = (event: KeyboardEvent): void => {
      if (!isKey(event, "Escape")) return;
      event.preventDefault();
      onClose();
    };
    // Before everybody else: an open drawer takes Escape, and the answer goes on.
    document.addEventListener("keydown", onKeyDown, { capture: true });
    const wide = window.matchMedia(WIDE);
    wide.addEventListener("change", onClose);
    return () => {
      wide.removeEventListener("change", onClose);
      document.removeEventListener("keydown", onKeyDown, { capture: true });
    };
  }, [open, onClose]);

  return (
    <>
      <div className={styles.scrim} data-open={open} onClick={onClose} />
      <aside id="sidebar" className={styles.sidebar} data-open={open} aria-label="Conversations and new chat">
        <div className={styles.brand}>
          <BrandMark size={26} />
          <span className={styles.brandName}>middle-core</span>
          {open && (
            <IconButton label="Close" data-testid="close-sidebar" onClick={onClose}>
              <CloseIcon />
            </IconButton>
          )}
        </div>
        <button ref={newRef} type="button" className={styles.newChat} data-testid="new-chat" onClick={onNew}>
          <PlusIcon size={17} /> New chat
        </button>
        <ThreadListView list={list} currentId={currentId} onOpen={onOpen} onDelete={onDelete} onReload={onReload} />
      </aside>
    </>
  );
}
