import { expect, it, vi } from "vitest";
import { Store } from "../ui/store";
import { Pause, whileHolds } from "./delays";

it("pauses until the time is over or a nudge comes", async () => {
  vi.useFakeTimers();
  const pause = new Pause();
  const ended: string[] = [];
  void pause.for(100).then(() => ended.push("time"));
  await vi.advanceTimersByTimeAsync(99);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  void pause.for(1_000).then(() => ended.push("nudge"));
  pause.nudge();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual(["time", "nudge"]);
  await pause.for(0);
  vi.useRealTimers();
});

it("waits while a condition holds, and not for ever", async () => {
  vi.useFakeTimers();
  const store = new Store(1);
  const ended: string[] = [];
  void whileHolds(store, () => store.get() < 3, 1_000).then(() => ended.push("changed"));
  store.set(2);
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual([]);
  store.set(3);
  await vi.advanceTimersByTimeAsync(0);
  void whileHolds(store, () => true, 1_000).then(() => ended.push("bound"));
  await whileHolds(store, () => false, 1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual(["changed", "bound"]);
  vi.useRealTimers();
});
