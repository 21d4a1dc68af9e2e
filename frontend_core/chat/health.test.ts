import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Health } from "./health";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const world = { up: false, asked: 0, recovered: 0 };
  const health = new Health({
    fetch: async () => {
      world.asked++;
      return world.up ? Response.json({}) : Response.json({}, { status: 503 });
    },
    onRecovered: () => world.recovered++,
  });
  return { world, health };
}

it("asks only after a suspicion, less and less often, and tells once when the server is back", async () => {
  const { world, health } = setUp();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(world.asked).toBe(0);
  health.suspect();
  health.suspect();
  await vi.advanceTimersByTimeAsync(0);
  expect(health.state.get()).toBe("away");
  expect(world.asked).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(world.asked).toBeLessThan(14);
  world.up = true;
  await vi.advanceTimersByTimeAsync(8_000);
  expect(health.state.get()).toBe("ok");
  expect(world.recovered).toBe(1);
});

it("does not cry wolf when the server answers", async () => {
  const { world, health } = setUp();
  world.up = true;
  health.suspect();
  await vi.advanceTimersByTimeAsync(0);
  expect(health.state.get()).toBe("ok");
  expect(world.recovered).toBe(0);
});

it("hurries when asked to", async () => {
  const { world, health } = setUp();
  health.suspect();
  await vi.advanceTimersByTimeAsync(20_000);
  world.up = true;
  health.hurry();
  await vi.advanceTimersByTimeAsync(0);
  expect(world.recovered).toBe(1);
  health.stop();
});
