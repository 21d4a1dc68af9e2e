/** The thread list as people see it: titles, ages, what is running, and deleting with a second thought. */

import { useState, type MouseEvent } from "react";
import { Button, IconButton } from "../ui/Button";
import { TrashIcon } from "../ui/icons";
import { useNow } from "../ui/useNow";
import { relativeTime } from "./relativeTime";
import type { ThreadItem } from "./threadApi";
import type { ThreadListState } from "./threadList";
import { addressOf } from "./threadParam";
import { isKey } from "../ui/keys";
import styles from "./threads.module.css";

interface ThreadListViewProps {
  readonly list: ThreadListState;
  readonly currentId: string;
  readonly onOpen: (threadId: string) => void;
  readonly onDelete: (threadId: string) => void;
  readonly onReload: () => void;
}

export function ThreadListView({ list, currentId, onOpen, onDelete, onReload }: ThreadListViewProps) {
  const now = useNow(30_000);
  return (
    <nav className={styles.section} aria-labelledby="threads-label">
      <h2 id="threads-label" className={styles.label}>
        Conversations
      </h2>
      <div className={styles.list}>
        {list.status === "loading" && <Skeleton />}
        {list.status === "error" && (
          <p className={styles.note} role="status">
            The list could not be loaded.{" "}
            <button type="button" onClick={onReload}>
              Try again
            </button>
          </p>
        )}
        {list.status === "ready" && list.items.length === 0 && (
          <p className={styles.note}>Nothing here yet. Your conversations will appear in this list.</p>
        )}
        <ul>
          {list.items.map((item) => (
            <ThreadRow key={item.id} item={item} now={now} current={item.id === currentId} onOpen={onOpen} onDelete={onDelete} />
          ))}
        </ul>
      </div>
    </nav>
  );
}

interface ThreadRowProps {
  readonly item: ThreadItem;
  readonly now: number;
  readonly current: boolean;
  readonly onOpen: (threadId: string) => void;
  readonly onDelete: (threadId: string) => void;
}

function ThreadRow({ item, now, current, onOpen, onDelete }: ThreadRowProps) {
  const [confirming, setConfirming] = useState(false);
  const title = item.title === "" ? "Untitled" : item.title;
  if (confirming) {
    return (
      <li className={styles.item} data-testid="thread-item" data-thread-id={item.id}>
        <div
          className={styles.confirm}
          role="group"
          aria-label={`Delete ${title}?`}
          onKeyDown={(event) => {
            if (!isKey(event.nativeEvent, "Escape")) return;
            event.preventDefault(); // It is not meant for the answer that is being written.
            setConfirming(false);
          }}
        >
          <span>Delete?</span>
          <Button
            autoFocus
            onClick={() => {
              setConfirming(false);
            }}
          >
            Keep
          </Button>
          <Button
            tone="danger"
            data-testid="confirm-delete"
            onClick={() => {
              onDelete(item.id);
            }}
          >
            Delete
          </Button>
        </div>
      </li>
    );
  }
  return (
    <li className={styles.item} data-testid="thread-item" data-thread-id={item.id} data-current={current}>
      <a
        className={styles.link}
        href={addressOf(item.id)}
        aria-current={current ? "page" : undefined}
        onClick={(event) => {
          if (isPlainClick(event)) {
            event.preventDefault();
            onOpen(item.id);
          }
        }}
      >
        <span className={styles.title}>{title}</span>
        <span className={styles.meta}>
          {item.running ? (
            <>
              <span className={styles.dot} aria-hidden="true" /> answering…
            </>
          ) : (
            relativeTime(item.updatedAt, now)
          )}
        </span>
      </a>
      <IconButton
        label={`Delete ${title}`}
        className={styles.delete}
        onClick={() => {
          setConfirming(true);
        }}
      >
        <TrashIcon size={16} />
      </IconButton>
    </li>
  );
}

function Skeleton() {
  return (
    <div aria-busy="true" aria-label="Loading conversations">
      {[0, 1, 2].map((index) => (
        <div key={index} className={styles.skeleton} />
      ))}
    </div>
  );
}

/** Anything but a plain click belongs to the browser: a new tab, a new window, a download. */
function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
}
