/**
 * Which conversation the page shows: `/?thread=<id>`, or `/` for a new one.
 *
 * The address is the truth; the id of a new conversation lives in memory until its first message.
 */

import { randomUUID } from "@ag-ui/client";
import { useSearchParams } from "next/navigation";
import { useCallback, useState } from "react";

export const THREAD_PARAM = "thread";
/** What middle-core accepts, roughly; a longer one is not looked at. */
const LONGEST_ID = 256;

export function addressOf(threadId: string): string {
  return `/?${THREAD_PARAM}=${encodeURIComponent(threadId)}`;
}

export interface CurrentThread {
  readonly id: string;
  /** Whether the id came from the address, so that the server may know it. */
  readonly known: boolean;
  readonly open: (threadId: string) => void;
  readonly openNew: () => void;
  /** The new conversation has its first message: give it an address, without a step in the history. */
  readonly settle: (threadId: string) => void;
}

export function useCurrentThread(): CurrentThread {
  const asked = useSearchParams().get(THREAD_PARAM);
  const fromAddress = asked !== null && asked !== "" && asked.length <= LONGEST_ID ? asked : undefined;
  const [fresh, setFresh] = useState(() => ({ id: randomUUID() }));
  // Once a new conversation has its address, "/" means the next new one.
  if (fromAddress === fresh.id) setFresh({ id: randomUUID() });
  const id = fromAddress ?? fresh.id;

  const open = useCallback((threadId: string) => {
    window.history.pushState(null, "", addressOf(threadId));
  }, []);
  const openNew = useCallback(() => {
    setFresh({ id: randomUUID() });
    if (window.location.search !== "") window.history.pushState(null, "", "/");
  }, []);
  const settle = useCallback((threadId: string) => {
    window.history.replaceState(null, "", addressOf(threadId));
  }, []);
  return { id, known: fromAddress !== undefined, open, openNew, settle };
}
