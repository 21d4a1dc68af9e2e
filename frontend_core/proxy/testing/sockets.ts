/** Notes every connection that this process opens, and lets none leave this machine. */

import { Socket } from "node:net";

type Connect = typeof Socket.prototype.connect;

/** `net`, `tls`, `http` and both kinds of fetch end in this one method. The list fills as `host:port`. */
export function noteSockets(): { readonly called: string[]; readonly restore: () => void } {
  const called: string[] = [];
  const original = Reflect.get(Socket.prototype, "connect") as (this: Socket, ...args: Parameters<Connect>) => Socket;
  Socket.prototype.connect = function connect(this: Socket, ...args: Parameters<Connect>): Socket {
    const [first] = args as unknown as [unknown];
    const [options] = (Array.isArray(first) ? first : [first]) as [{ host?: string; port?: number | string }];
    called.push(`${options.host}:${options.port}`);
    if (options.host === "127.0.0.1") return original.apply(this, args);
    setImmediate(() => this.destroy(new Error("Tests do not leave this machine.")));
    return this;
  } as Connect;
  return { called, restore: () => { Socket.prototype.connect = original as Connect; } };
}
