/** This process's proxy, built at its first request. */

import { readConfig } from "../config";
import { Proxy } from "./proxy";

let instance: Proxy | null = null;

export function proxy(): Proxy {
  instance ??= new Proxy(readConfig());
  return instance;
}
