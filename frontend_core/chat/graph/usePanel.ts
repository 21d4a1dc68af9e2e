/** Whether the execution graph is open; remembered in this browser. */

import { useState } from "react";

const KEY = "middle-core.graph";

/** The id of the button that opens the panel: it gets the focus back. */
export const GRAPH_TOGGLE = "graph-toggle";

export interface PanelState {
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
}

export function usePanel(): PanelState {
  const [open, setOpen] = useState(() => recall() === "open");
  return {
    open,
    setOpen: (next) => {
      setOpen(next);
      remember(next ? "open" : "closed");
    },
  };
}

function recall(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // Storage may be refused; the panel starts closed then.
  }
}

function remember(value: string): void {
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // Storage may be refused: then it is not remembered.
  }
}
