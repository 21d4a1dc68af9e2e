// @vitest-environment node
import { CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ask } from "../api";
import type { Failure } from "../errors/failure";
import { begin, cancelled, close, failed, FakeRuntime, finished, say, snapshot, started, until, type Stage } from "./testing/fakeRuntime";
import type { Phase } from "./viewModel";
import { ThreadSession } from "./threadSession";

let runtime: FakeRuntime;
let session: ThreadSession;
let failures: Failure[];
let phases: Phase[];
let token: string;
let ids: number;

const user = (id: string, content: string) => ({ id, role: "user", content });
const assistant = (id: string, content: string, more: object = {}) => ({ id, role: "assistant", content, ...more });
const answer = (id: string, text: string) => [begin(id), say(id, text), close(id)];

beforeEach(async () => {
  // The client reports each failed run to the console; the session shows it to people.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  runtime = await FakeRuntime.start();
  [failures, phases, token, ids] = [[], [], "t1", 0];
});

afterEach(async () => {
  session.dispose();
  await runtime.close();
  vi.restoreAllMocks();
});

function open(known = false): ThreadSession {
  const core = new CopilotKitCoreReact({ runtimeUrl: runtime.url, runtimeTransport: "rest", deferInitialConnection: true });
  session = new ThreadSession({
    core,
    threadId: "t",
    runtimeAgentId: "default",
    known,
    postStop: async () => {
      const { body } = await ask((path, init) => fetch(path, init), `${runtime.url}/agent/default/stop/t`, { method: "POST", json: {}, token });
      return (body as { stopped: boolean }).stopped;
    },
    beforeRequest: () => {
      core.setHeaders({ authorization: `Bearer ${token}` });
    },
    onFailure: (failure) => failures.push(failure),
    onRunChange: () => undefined,
    withOutcomes: (messages) => messages,
    newId: () => `u${++ids}`,
    nextFrame: (callback) => setImmediate(callback),
    reconnect: { firstMs: 5, maxMs: 20 },
  });
  session.view.subscribe(() => {
    const { phase } = session.view.get();
    if (phases.at(-1) !== phase) phases.push(phase);
  });
  session.start();
  return session;
}

const idle = (): Promise<void> => until(() => session.view.get().phase === "idle", "the page to be idle");
const texts = (): string[] => session.view.get().rows.map((row) => `${row.kind[0] ?? ""}:${row.text}`);
const stoppedIds = (): string[] => session.view.get().rows.flatMap((row) => (row.kind === "assistant" && row.stopped ? [row.id] : []));

/** A stage that the test goes on with later. */
function held(...events: object[]): { play: (stage: Stage) => void; stage: () => Promise<Stage> } {
  let stage: Stage | undefined;
  return {
    play: (opened) => {
      stage = opened.send(...events);
    },
    stage: async () => {
      await until(() => stage !== undefined, "the request");
      if (stage === undefined) throw new Error("unreachable");
      return stage;
    },
  };
}

describe("sending", () => {
  it("shows the message at once, then the answer", async () => {
    runtime.run = [(stage) => { stage.send(started, ...answer("a1", "Hello"), finished).end(); }];
    open();
    expect(session.send("Hi")).toBe(true);
    expect(texts()).toEqual(["u:Hi"]);
    expect(session.view.get().phase).toBe("running");
    await idle();
    expect(texts()).toEqual(["u:Hi", "a:Hello"]);
    expect(runtime.to("run")[0]?.headers.authorization).toBe("Bearer t1");
    expect(runtime.to("connect")).toEqual([]);
  });

  it("takes nothing while an answer is being written, and no empty words", async () => {
    const run = held(started, begin("a1"));
    runtime.run = [run.play];
    open();
    expect(session.send("   ")).toBe(false);
    session.send("Hi");
    expect(session.send("Again")).toBe(false);
    (await run.stage()).send(close("a1"), finished).end();
    await idle();
    expect(runtime.to("run")).toHaveLength(1);
  });

  it("withdraws open questions together with a new message", async () => {
    const interrupts = [{ id: "i1", reason: "approve" }, { id: "i2", reason: "approve" }];
    runtime.run = [
      (stage) => { stage.send(started, { ...finished, outcome: { type: "interrupt", interrupts } }).end(); },
      (stage) => { stage.send(started, ...answer("a2", "Fine"), finished).end(); },
    ];
    open();
    session.send("Delete it");
    await idle();
    session.send("Never mind");
    await idle();
    expect(runtime.to("run")[1]?.body.resume).toEqual([
      { interruptId: "i1", status: "cancelled" },
      { interruptId: "i2", status: "cancelled" },
    ]);
    expect(texts().at(-1)).toBe("a:Fine");
  });
});

describe("a connection that breaks", () => {
  const part = [started, begin("a1"), say("a1", "One ")];
  const replay = [started, snapshot(user("u1", "Hi")), begin("a1"), say("a1", "One "), say("a1", "two"), close("a1"), finished];

  it.each(["cut", "end"] as const)("is attached again after a %s, and the words on the screen never get fewer", async (how) => {
    const run = held(...part);
    runtime.run = [run.play];
    runtime.connect = [(stage) => { stage.send(...replay).end(); }];
    open();
    const lengths: number[] = [];
    session.view.subscribe(() => lengths.push(texts().join("").length));
    session.send("Hi");
    const stage = await run.stage();
    await until(() => texts().at(-1) === "a:One ", "the first words");
    stage[how]();
    await idle();
    expect(texts()).toEqual(["u:Hi", "a:One two"]);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(session.view.get().failure).toBeUndefined();
    expect(phases).toContain("reconnecting");
  });

  it("is attached again as often as it breaks", async () => {
    const run = held(...part);
    runtime.run = [run.play];
    runtime.connect = [
      (stage) => { stage.send(started, snapshot(user("u1", "Hi")), begin("a1")).cut(); },
      (stage) => { stage.response.socket?.destroy(); },
      (stage) => { stage.refuse(503, { code: "draining" }); },
      (stage) => { stage.send(...replay).end(); },
    ];
    open();
    session.send("Hi");
    (await run.stage()).cut();
    await idle();
    expect(texts()).toEqual(["u:Hi", "a:One two"]);
  });

  it("sends again what never arrived, under the same id", async () => {
    runtime.run = [
      (stage) => { stage.response.socket?.destroy(); },
      (stage) => { stage.send(started, ...answer("a1", "Hello"), finished).end(); },
    ];
    runtime.connect = [(stage) => { stage.send(started, snapshot(), finished).end(); }];
    open();
    session.send("Hi");
    await until(() => runtime.to("run").length === 2, "the second try");
    await idle();
    expect(texts()).toEqual(["u:Hi", "a:Hello"]);
    expect(runtime.to("run").map(({ body }) => body.messages?.map(({ id }) => id))).toEqual([["u1"], ["u1"]]);
  });

  it("is given up after a while, with what was written kept; the way back goes on", async () => {
    const run = held(...part);
    runtime.run = [run.play];
    runtime.connect = [(stage) => { stage.response.socket?.destroy(); }];
    open();
    session.send("Hi");
    (await run.stage()).cut();
    await idle();
    expect(session.view.get().failure?.code).toBe("connection_lost");
    expect(texts()).toEqual(["u:Hi", "a:One "]);
    runtime.connect = [(stage) => { stage.send(...replay).end(); }];
    session.recovered();
    await until(() => texts().at(-1) === "a:One two", "the rest");
    await idle();
    expect(session.view.get().failure).toBeUndefined();
    expect(runtime.to("run")).toHaveLength(1);
  });
});

describe("failures", () => {
  it("are shown, and Retry has the message answered anew under its id", async () => {
    runtime.run = [
      (stage) => { stage.send(started, begin("a1"), say("a1", "Half"), close("a1"), failed("run_lost")).end(); },
      (stage) => { stage.send(started, ...answer("a2", "Whole"), finished).end(); },
    ];
    runtime.connect = [(stage) => { stage.send(started, snapshot(user("u1", "Hi"), assistant("a1", "Half")), finished).end(); }];
    open();
    session.send("Hi");
    await idle();
    expect(session.view.get().failure).toMatchObject({ code: "run_lost", detail: "Words." });
    expect(texts()).toEqual(["u:Hi", "a:Half"]);
    session.retry();
    await until(() => texts().at(-1) === "a:Whole", "the new answer");
    await idle();
    expect(texts()).toEqual(["u:Hi", "a:Whole"]);
    expect(runtime.to("run")[1]?.body.messages?.map(({ id }) => id)).toEqual(["u1"]);
    expect(session.view.get().failure).toBeUndefined();
  });

  it("of an expired sign-in go on with the new token", async () => {
    runtime.run = [
      (stage) => { stage.refuse(401, { code: "unauthorized" }); },
      (stage) => { stage.send(started, ...answer("a1", "Hello"), finished).end(); },
    ];
    runtime.connect = [(stage) => { stage.send(started, snapshot(), finished).end(); }];
    open();
    session.send("Hi");
    await idle();
    expect(failures).toMatchObject([{ code: "unauthorized" }]);
    token = "t2";
    session.recovered();
    await until(() => texts().at(-1) === "a:Hello", "the answer");
    expect(runtime.to("run")[1]?.headers.authorization).toBe("Bearer t2");
    await idle();
  });

  it("of another kind wait for the person", async () => {
    runtime.run = [(stage) => { stage.refuse(429, { code: "rate_limited", retry_after: 9 }); }];
    open();
    session.send("Hi");
    await idle();
    expect(session.view.get().failure).toMatchObject({ code: "rate_limited", retryAfter: 9 });
    session.recovered();
    expect(session.view.get().phase).toBe("idle");
    session.dismissFailure();
    expect(session.view.get().failure).toBeUndefined();
    expect(texts()).toEqual(["u:Hi"]);
  });

  it("of loading can be tried again", async () => {
    runtime.connect = [(stage) => { stage.refuse(500, { code: "internal" }); }];
    open(true);
    expect(session.view.get().phase).toBe("loading");
    expect(session.send("too early")).toBe(false);
    await idle();
    expect(session.view.get().failure?.code).toBe("internal");
    runtime.connect = [(stage) => { stage.send(started, snapshot(user("u0", "Old"), assistant("a0", "Talk")), finished).end(); }];
    session.retry();
    await until(() => texts().length === 2, "the conversation");
    await idle();
    expect(texts()).toEqual(["u:Old", "a:Talk"]);
  });
});

describe("stopping", () => {
  it("is said at once, keeps the words, and marks them", async () => {
    const run = held(started, begin("a1"), say("a1", "One two"));
    runtime.run = [run.play];
    runtime.stop = [(stage) => { stage.refuse(200, { stopped: true }); }];
    open();
    session.send("Hi");
    const stage = await run.stage();
    await until(() => texts().length === 2, "the first words");
    session.stop();
    expect(session.view.get().phase).toBe("stopping");
    expect(stoppedIds()).toEqual(["a1"]);
    await until(() => runtime.to("stop").length === 1, "the stop");
    stage.send(close("a1"), cancelled, finished).end();
    await idle();
    expect(texts()).toEqual(["u:Hi", "a:One two"]);
    expect(stoppedIds()).toEqual(["a1"]);
    expect(session.view.get().failure).toBeUndefined();
  });

  it("is asked for again when it overtakes its run", async () => {
    const run = held();
    runtime.run = [run.play];
    runtime.stop = [(stage) => { stage.refuse(200, { stopped: false }); }, (stage) => { stage.refuse(200, { stopped: true }); }];
    open();
    session.send("Hi");
    session.stop();
    const stage = await run.stage();
    await until(() => runtime.to("stop").length === 2, "the second stop");
    stage.send(started, begin("a1"), say("a1", "So"), close("a1"), cancelled, finished).end();
    await idle();
    expect(stoppedIds()).toEqual(["a1"]);
  });

  it("before the first word leaves a mark of its own", async () => {
    const run = held(started);
    runtime.run = [run.play];
    runtime.stop = [(stage) => { stage.refuse(200, { stopped: true }); }];
    open();
    session.send("Hi");
    const stage = await run.stage();
    session.stop();
    stage.send(cancelled, finished).end();
    await idle();
    expect(session.view.get().stoppedEmpty).toBe(true);
    expect(texts()).toEqual(["u:Hi"]);
  });

  it("lets the next message through, after the stop and with nothing of the stopped answer in it", async () => {
    const first = held(started, begin("a1"), say("a1", "Old"));
    runtime.run = [first.play, (stage) => { stage.send(started, ...answer("a2", "New"), finished).end(); }];
    const order: string[] = [];
    runtime.stop = [(stage) => { order.push(`stop before ${runtime.to("run").length} runs`); stage.refuse(200, { stopped: true }); }];
    open();
    session.send("Hi");
    const stage = await first.stage();
    await until(() => texts().length === 2, "the first words");
    session.stop();
    expect(session.send("Next")).toBe(true);
    expect(texts().at(-1)).toBe("u:Next");
    await until(() => order.length === 1, "the stop");
    stage.send(say("a1", " words"), close("a1"), cancelled, finished).end();
    await until(() => texts().at(-1) === "a:New", "the new answer");
    await idle();
    expect(texts()).toEqual(["u:Hi", "a:Old words", "u:Next", "a:New"]);
    expect(stoppedIds()).toEqual(["a1"]);
    expect(order).toEqual(["stop before 1 runs"]);
  });

  it("lets the next message through also when its thread is still busy for a moment", async () => {
    const first = held(started, begin("a1"), say("a1", "Old"));
    runtime.run = [
      first.play,
      (stage) => { stage.send(started, failed("thread_busy")).end(); },
      (stage) => { stage.send(started, ...answer("a2", "New"), finished).end(); },
    ];
    runtime.stop = [(stage) => { stage.refuse(200, { stopped: true }); }];
    open();
    session.send("Hi");
    await first.stage();
    await until(() => texts().length === 2, "the first words");
    session.stop();
    session.send("Next");
    await until(() => texts().at(-1) === "a:New", "the new answer");
    await idle();
    expect(session.view.get().failure).toBeUndefined();
    expect(runtime.to("run")).toHaveLength(3);
  });

  it("that the server does not hear is told, and the answer goes on", async () => {
    const run = held(started, begin("a1"), say("a1", "One"));
    runtime.run = [run.play];
    runtime.stop = [(stage) => { stage.refuse(503, { code: "draining" }); }];
    open();
    session.send("Hi");
    const stage = await run.stage();
    await until(() => texts().length === 2, "the first words");
    session.stop();
    await until(() => session.view.get().failure?.code === "stop_failed", "the failure");
    expect(session.view.get().phase).toBe("running");
    expect(stoppedIds()).toEqual([]);
    stage.send(say("a1", " two"), close("a1"), finished).end();
    await idle();
    expect(texts().at(-1)).toBe("a:One two");
  });
});

describe("other tabs", () => {
  it("are followed: a run of theirs is watched and can be stopped here", async () => {
    runtime.connect = [(stage) => { stage.send(started, snapshot(user("u0", "Old")), finished).end(); }];
    open(true);
    await idle();
    const theirs = held(started, { type: "CUSTOM", name: "middle_core.run", value: { runId: "r2" } }, snapshot(user("u0", "Old"), user("x1", "Theirs")), begin("a1"), say("a1", "Going"));
    runtime.connect = [theirs.play];
    runtime.stop = [(stage) => { stage.refuse(200, { stopped: true }); }];
    session.attach();
    await until(() => session.view.get().phase === "running", "their run");
    await until(() => texts().at(-1) === "a:Going", "their words");
    expect(session.seenRunId).toBe("r2");
    session.stop();
    (await theirs.stage()).send(close("a1"), cancelled, finished).end();
    await idle();
    expect(texts()).toEqual(["u:Old", "u:Theirs", "a:Going"]);
    expect(stoppedIds()).toEqual(["a1"]);
  });

  it("do not cost the message that failed here", async () => {
    runtime.run = [(stage) => { stage.refuse(429, { code: "rate_limited" }); }];
    runtime.connect = [(stage) => { stage.send(started, snapshot(user("x1", "Theirs"), assistant("a1", "Done")), finished).end(); }];
    open();
    session.send("Mine");
    await idle();
    session.attach();
    await until(() => texts().length === 3, "their talk");
    expect(texts()).toEqual(["u:Theirs", "a:Done", "u:Mine"]);
    expect(session.view.get().failure?.code).toBe("rate_limited");
  });
});

describe("leaving", () => {
  it("closes the connection, and what comes after changes nothing", async () => {
    const run = held(started, begin("a1"), say("a1", "One"));
    runtime.run = [run.play];
    open();
    session.send("Hi");
    const stage = await run.stage();
    await until(() => texts().length === 2, "the first words");
    let left = false;
    stage.response.on("close", () => (left = true));
    session.dispose();
    await until(() => left, "the connection to close");
    expect(texts()).toEqual(["u:Hi", "a:One"]);
    expect(runtime.to("stop")).toEqual([]);
  });
});
