/** Waits with a bound that something can cut short. */

import type { Store } from "../ui/store";

/** A pause that `nudge` ends at once, when something has made waiting pointless. */
export class Pause {
  #end: (() => void) | undefined;

  for(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      this.#end = done;
      function done(): void {
        clearTimeout(timer);
        resolve();
      }
    });
  }

  nudge(): void {
    this.#end?.();
  }
}

/** Wait while the condition holds, looking at each change of the store, and not longer than the bound. */
export function whileHolds<T>(store: Store<T>, condition: () => boolean, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, withinMs);
    const unsubscribe = store.subscribe(() => {
      if (!condition()) done();
    });
    function done(): void {
      clearTimeout(timer);
      unsubscribe();
      resolve();
    }
    if (!condition()) done();
  });
}
