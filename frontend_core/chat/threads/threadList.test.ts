import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Failure } from "../errors/failure";
import { ThreadList } from "./threadList";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const row = (threadId: string) => ({ threadId, title: threadId, updatedAt: 1, running: false });

function setUp() {
  const world = {
    signedIn: true,
    visible: true,
    asked: 0,
    failures: [] as Failure[],
    answer: (method: string): Response => (method === "GET" ? Response.json({ threads: [row("a"), row("b")] }) : new Response(null, { status: 204 })),
  };
  const list = new ThreadList({
    caller: () =>
      world.signedIn
        ? {
            token: "t",
            fetch: async (_path, init) => {
              world.asked++;
              return world.answer(init?.method ?? "GET");
            },
          }
        : undefined,
    onFailure: (failure) => world.failures.push(failure),
    visible: () => world.visible,
  });
  list.start();
  return { world, list, ids: () => list.state.get().items.map(({ id }) => id) };
}

it("loads, and again when told, several reasons at once", async () => {
  const { world, list, ids } = setUp();
  await vi.advanceTimersByTimeAsync(1);
  expect(ids()).toEqual(["a", "b"]);
  list.reload();
  list.reload();
  await vi.advanceTimersByTimeAsync(200);
  expect(world.asked).toBe(2);
  list.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(world.asked).toBe(2);
});

it("asks nothing while hidden or signed out", async () => {
  const { world, list } = setUp();
  world.visible = false;
  await vi.advanceTimersByTimeAsync(20_000);
  world.visible = true;
  world.signedIn = false;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(world.asked).toBe(0);
  list.stop();
});

it("keeps what it has when a reload fails, and tells the failure", async () => {
  const { world, list, ids } = setUp();
  await vi.advanceTimersByTimeAsync(1);
  world.answer = () => new Response("bad gateway", { status: 502 });
  list.reload();
  await vi.advanceTimersByTimeAsync(200);
  expect(list.state.get().status).toBe("error");
  expect(ids()).toEqual(["a", "b"]);
  expect(world.failures).toMatchObject([{ code: "unavailable" }]);
  list.stop();
});

it("takes a deleted thread away at once, and brings it back when the server refuses", async () => {
  const { world, list, ids } = setUp();
  await vi.advanceTimersByTimeAsync(1);
  const gone = list.remove("a");
  expect(ids()).toEqual(["b"]);
  expect(await gone).toBe(true);
  const before = world.answer;
  world.answer = (method) => (method === "DELETE" ? Response.json({ code: "thread_busy" }, { status: 409 }) : before(method));
  expect(await list.remove("b")).toBe(false);
  expect(ids()).toEqual(["b"]);
  expect(world.failures).toMatchObject([{ code: "thread_busy" }]);
  list.stop();
});
