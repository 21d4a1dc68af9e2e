import { describe, expect, it } from "vitest";

import { Place, type Step } from "./replayCursor";
import { type Event, RUN, script } from "./testing/fake";

const NOTHING = { kind: "nothing" };

function take(place: Place, event: Event, seq: number | null = null): Step {
  return place.take({ id: seq === null ? null : `${RUN}:${seq}`, data: JSON.stringify(event) });
}

const text = (delta: string) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta });

describe("Place", () => {
  it("knows no cursor before the first id, then the last one", () => {
    const place = new Place();
    take(place, { type: "RUN_STARTED", threadId: "t", runId: "r" });
    expect(place.cursor).toBeNull();
    take(place, text("a"), 3);
    take(place, text("b"), 4);
    expect(place.cursor).toEqual({ run: RUN, lastEventId: `${RUN}:4` });
  });

  it("shows a seq once, and goes on beyond a jump", () => {
    const place = new Place();
    expect(take(place, text("a"), 3).kind).toBe("event");
    expect(take(place, text("a"), 3)).toEqual(NOTHING);
    expect(take(place, text("old"), 2)).toEqual(NOTHING);
    expect(take(place, text("b"), 1004).kind).toBe("event");
  });

  it("shows equal events under new seqs", () => {
    const place = new Place();
    expect([take(place, text("ha"), 1), take(place, text("ha"), 2)].map((step) => step.kind)).toEqual(["event", "event"]);
  });

  it("does not show the first frames of a record twice when the cut came before its id", () => {
    const place = new Place();
    const cancelled = { type: "CUSTOM", name: "middle_core.run_cancelled", value: {} };
    const end = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
    take(place, text("a"), 5);
    expect(take(place, cancelled).kind).toBe("event");
    place.attached();
    expect(take(place, cancelled)).toEqual(NOTHING);
    expect(take(place, end, 6)).toMatchObject({ kind: "event", terminal: true });
  });

  it("shows what comes instead of the frames that were expected again", () => {
    const place = new Place();
    take(place, { type: "CUSTOM", name: "a" });
    take(place, { type: "CUSTOM", name: "b" });
    place.attached();
    expect(take(place, { type: "CUSTOM", name: "middle_core.gap" }).kind).toBe("event");
    expect(take(place, { type: "CUSTOM", name: "b" }).kind).toBe("event");
  });

  it("keeps the server's asking to come back from the browser, and bounds its pause", () => {
    const place = new Place();
    const ask = (value: unknown) => take(place, { type: "CUSTOM", name: "middle_core.reattach", value });
    expect(ask({ reason: "drain", retryAfterMs: 1000 })).toEqual({ kind: "reattach", reason: "drain", afterMs: 1000 });
    expect(ask({ reason: "lagging", retryAfterMs: 9e9 })).toEqual({ kind: "reattach", reason: "lagging", afterMs: 10_000 });
    expect(ask(null)).toEqual({ kind: "reattach", reason: "", afterMs: 0 });
  });

  it("drops types that the installed client cannot parse, and keeps their place", () => {
    const place = new Place();
    expect(take(place, { type: "FROM_THE_FUTURE" }, 1)).toEqual(NOTHING);
    expect(place.cursor?.lastEventId).toBe(`${RUN}:1`);
  });

  it("shows one RUN_STARTED", () => {
    const place = new Place();
    const [started = {}] = script([]);
    expect(take(place, started).kind).toBe("event");
    expect(take(place, { ...started, runId: "r2" }, 1)).toEqual(NOTHING);
  });

  it.each(["not json", "null", "[]", '{"type":5}', '{"no":"type"}'])("refuses %s", (data) => {
    expect(() => new Place().take({ id: null, data })).toThrow(SyntaxError);
  });

  it("takes no cursor from an id that is not ours", () => {
    const place = new Place();
    place.take({ id: "../../admin:1", data: JSON.stringify(text("a")) });
    expect(place.cursor).toBeNull();
  });
});
