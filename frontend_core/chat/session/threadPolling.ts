/**
 * Notices what happened to this thread elsewhere: a second tab, another device, the API.
 *
 * Asks for the thread's status every two seconds while the page is visible and idle, never while it is hidden,
 * and at once when it becomes visible again. It decides nothing but this; the session does the attaching.
 */

import type { StatusAnswer, ThreadStatus } from "../threads/threadApi";

export interface WatchDeps {
  /** Throws HttpFailure. */
  readonly fetchStatus: (etag: string | undefined) => Promise<StatusAnswer>;
  /** Whether now is a moment to look: the page is idle and the server may know the thread. */
  readonly ready: () => boolean;
  /** The server's name of the newest run that this page has seen. */
  readonly seenRunId: () => string | undefined;
  readonly attach: () => void;
  readonly onError: (error: unknown) => void;
  readonly visible: () => boolean;
  /** Calls back when the page becomes visible or hidden; returns how to stop that. */
  readonly onVisibility: (callback: () => void) => () => void;
}

export const WATCH_EVERY_MS = 1_800;

/** Whether the page has to look at the thread again. Pure. */
export function needsLook(status: ThreadStatus, seenRunId: string | undefined): boolean {
  if (status.activeRunId !== undefined) return true;
  return status.lastRunId !== undefined && status.lastRunId !== seenRunId;
}

/** Start watching; the result stops it. */
export function watchThread(deps: WatchDeps): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let etag: string | undefined;
  let asking = false;
  let ended = false;

  const look = async (): Promise<void> => {
    clearTimeout(timer);
    if (ended || asking || !deps.visible()) return;
    if (deps.ready()) {
      asking = true;
      try {
        const answer = await deps.fetchStatus(etag);
        if (answer.changed) {
          const wanted = needsLook(answer.status, deps.seenRunId());
          // While a look is wanted the tag is not kept: it is asked again until the page has caught up.
          etag = wanted ? undefined : answer.etag;
          if (wanted && isCurrent()) deps.attach();
        }
      } catch (error) {
        if (isCurrent()) deps.onError(error);
      } finally {
        asking = false;
      }
    }
    if (isCurrent() && deps.visible()) timer = setTimeout(() => void look(), WATCH_EVERY_MS);
  };
  const isCurrent = (): boolean => !ended;

  const unsubscribe = deps.onVisibility(() => {
    clearTimeout(timer);
    void look();
  });
  timer = setTimeout(() => void look(), WATCH_EVERY_MS);
  return () => {
    ended = true;
    clearTimeout(timer);
    unsubscribe();
  };
}
