import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { StatusAnswer, ThreadStatus } from "../threads/threadApi";
import { needsLook, WATCH_EVERY_MS, watchThread } from "./threadPolling";

const status = (more: Partial<ThreadStatus> = {}): ThreadStatus => ({
  id: "t",
  title: "",
  updatedAt: 1,
  running: false,
  activeRunId: undefined,
  lastRunId: "r1",
  ...more,
});

describe("needsLook", () => {
  it("looks when something runs, and when a run has come and gone", () => {
    expect(needsLook(status({ activeRunId: "r1" }), "r1")).toBe(true);
    expect(needsLook(status({ lastRunId: "r2" }), "r1")).toBe(true);
    expect(needsLook(status(), undefined)).toBe(true);
    expect(needsLook(status(), "r1")).toBe(false);
    expect(needsLook(status({ lastRunId: undefined }), undefined)).toBe(false);
  });
});

describe("watchThread", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function setUp() {
    const world = {
      visible: true,
      ready: true,
      answer: (): StatusAnswer => ({ changed: true, status: status(), etag: "e1" }),
      asked: [] as (string | undefined)[],
      attached: 0,
      errors: 0,
      wake: (): void => undefined,
    };
    const stop = watchThread({
      fetchStatus: async (etag) => {
        world.asked.push(etag);
        return world.answer();
      },
      ready: () => world.ready,
      seenRunId: () => "r1",
      attach: () => world.attached++,
      onError: () => world.errors++,
      visible: () => world.visible,
      onVisibility: (callback) => {
        world.wake = callback;
        return () => undefined;
      },
    });
    return { world, stop };
  }

  it("asks with the tag it knows, and looks within two turns of a run elsewhere", async () => {
    const { world, stop } = setUp();
    await vi.advanceTimersByTimeAsync(WATCH_EVERY_MS);
    world.answer = () => ({ changed: false });
    await vi.advanceTimersByTimeAsync(WATCH_EVERY_MS);
    expect(world.asked).toEqual([undefined, "e1"]);
    expect(world.attached).toBe(0);
    world.answer = () => ({ changed: true, status: status({ activeRunId: "r2" }), etag: "e2" });
    await vi.advanceTimersByTimeAsync(WATCH_EVERY_MS);
    expect(world.attached).toBe(1);
    stop();
  });

  it("asks nothing while hidden, and at once when seen again", async () => {
    const { world, stop } = setUp();
    world.visible = false;
    await vi.advanceTimersByTimeAsync(10 * WATCH_EVERY_MS);
    expect(world.asked).toEqual([]);
    world.visible = true;
    world.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(world.asked).toHaveLength(1);
    stop();
  });

  it("asks nothing while an answer is being written here", async () => {
    const { world, stop } = setUp();
    world.ready = false;
    await vi.advanceTimersByTimeAsync(5 * WATCH_EVERY_MS);
    expect(world.asked).toEqual([]);
    world.ready = true;
    await vi.advanceTimersByTimeAsync(WATCH_EVERY_MS);
    expect(world.asked).toHaveLength(1);
    stop();
  });

  it("goes on after an error, and ends when told", async () => {
    const { world, stop } = setUp();
    world.answer = () => {
      throw new Error("away");
    };
    await vi.advanceTimersByTimeAsync(2 * WATCH_EVERY_MS);
    expect(world.errors).toBe(2);
    stop();
    await vi.advanceTimersByTimeAsync(5 * WATCH_EVERY_MS);
    world.wake();
    expect(world.asked).toHaveLength(2);
  });
});
