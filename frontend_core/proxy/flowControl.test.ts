import { describe, expect, it } from "vitest";

import { within } from "./testing/wait";
import { Stalled, Window } from "./flowControl";

const never = new AbortController().signal;

describe("Window", () => {
  it("lets as many in as it is wide, and the next when one has left", async () => {
    const window = new Window(5_000, 2);
    await window.enter(never);
    await window.enter(never);
    let entered = false;
    const third = window.enter(never).then(() => { entered = true; });
    await new Promise((resolve) => setImmediate(resolve));
    expect(entered).toBe(false);
    window.leave();
    await within("the third", third);
  });

  it("gives up on a reader that takes nothing", async () => {
    const window = new Window(20, 1);
    await window.enter(never);
    await expect(window.enter(never)).rejects.toThrow(Stalled);
  });

  it("ends the wait with the signal", async () => {
    const window = new Window(5_000, 1);
    const gone = new AbortController();
    await window.enter(gone.signal);
    const waiting = window.enter(gone.signal);
    gone.abort();
    await expect(waiting).rejects.toThrow("abort");
    await expect(window.enter(gone.signal)).rejects.toThrow("abort");
  });
});
