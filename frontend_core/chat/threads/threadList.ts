/**
 * The list of the caller's threads, from the server: never from the browser's storage.
 *
 * Reloads when told, and every few seconds while the page is visible. A reload that fails keeps the list that
 * was there.
 */

import { ERROR_CODE } from "../../contract";
import { failureOfThrown, type Failure } from "../errors/failure";
import { Store } from "../ui/store";
import { deleteThread, listThreads, type Caller, type ThreadItem } from "./threadApi";

export interface ThreadListState {
  readonly status: "loading" | "ready" | "error";
  readonly items: readonly ThreadItem[];
}

export interface ThreadListDeps {
  /** Undefined while nobody is signed in. */
  readonly caller: () => Caller | undefined;
  readonly onFailure: (failure: Failure) => void;
  readonly visible: () => boolean;
}

const RELOAD_EVERY_MS = 5_000;
/** Several reasons to reload within this time are one reload. */
const GATHER_MS = 120;

export class ThreadList {
  readonly state = new Store<ThreadListState>({ status: "loading", items: [] });
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;

  constructor(private readonly deps: ThreadListDeps) {}

  start(): void {
    this.#after(0);
  }

  stop(): void {
    this.#turn++;
    clearTimeout(this.#timer);
  }

  /** Something changed: look again soon. */
  readonly reload = (): void => {
    this.#after(GATHER_MS);
  };

  /** Take a thread away at once; it comes back, with the failure told, if the server refuses. */
  async remove(threadId: string): Promise<boolean> {
    const caller = this.deps.caller();
    if (caller === undefined) return false;
    const before = this.state.get();
    this.state.patch({ items: before.items.filter(({ id }) => id !== threadId) });
    try {
      await deleteThread(caller, threadId);
      return true;
    } catch (error) {
      const failure = failureOfThrown(error);
      if (failure.code === ERROR_CODE.NOT_FOUND) return true;
      this.state.set(before);
      this.deps.onFailure(failure);
      return false;
    } finally {
      this.reload();
    }
  }

  #after(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.#load();
    }, ms);
  }

  async #load(): Promise<void> {
    const turn = ++this.#turn;
    const caller = this.deps.caller();
    if (caller !== undefined && this.deps.visible()) {
      try {
        const items = await listThreads(caller);
        if (turn !== this.#turn) return;
        this.state.set({ status: "ready", items });
      } catch (error) {
        if (turn !== this.#turn) return;
        this.state.patch({ status: "error" });
        this.deps.onFailure(failureOfThrown(error));
      }
    }
    this.#after(RELOAD_EVERY_MS);
  }
}
