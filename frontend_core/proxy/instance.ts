/** This process's proxy, built at its first request; its streams end with the process's first signal to stop. */

import { readConfig } from "./config";
import { Proxy } from "./proxy";

let instance: Proxy | null = null;

export function proxy(): Proxy {
  if (instance) return instance;
  const made = new Proxy(readConfig());
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      made.drain();
    });
  }
  instance = made;
  return made;
}
