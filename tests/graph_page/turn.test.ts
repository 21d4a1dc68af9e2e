import { describe, expect, it } from "vitest";
import { activityOf, advance, answered, Delivery, duration, NEW_TURN, taken, type Turn, turnOf } from "../../middle_core/graph_page/graph.js";

type Event = Record<string, unknown>;

const head = { version: "1", run_id: "r1", thread_id: "t1", at: 1_000 };
const topology = (nodes: readonly string[], edges: readonly (readonly [string, string, boolean?])[]): Event => ({
  ...head,
  type: "graph_topology",
  agent: "a",
  nodes: nodes.map((id) => ({ id, label: id.split(":").at(-1), parent: id.includes(":") ? id.split(":")[0] : null })),
  edges: edges.map(([source, target, conditional = false]) => ({ source, target, conditional, label: null })),
});
const started = (node: string, task: string, more: Event = {}): Event => ({ ...head, type: "node_started", node, path: [node], task_id: task, started_at: 1_000, ...more });
const ended = (node: string, task: string, more: Event = {}): Event => ({ ...started(node, task), type: "node_completed", latency_ms: 20, outcome: "ok", ...more });
const skipped = (node: string): Event => ({ ...head, type: "node_completed", node, path: [node], task_id: null, started_at: null, latency_ms: 0, outcome: "skipped" });
const completed = (status: string, more: Event = {}): Event => ({ ...head, type: "turn_completed", response: { status, reply: null, interrupts: [], latency: [], error: null, ...more } });
const played = (events: readonly Event[], from: Turn = NEW_TURN) => events.reduce(advance, from);
const lit = (turn: Turn) => [...taken(turn)].map((key) => key.replace("\n", ">")).toSorted();

const LOOP = topology(["__start__", "agent", "tools", "__end__"], [
  ["__start__", "agent"],
  ["agent", "tools", true],
  ["agent", "__end__", true],
  ["tools", "agent", true],
  ["tools", "__end__", true],
]);
const ROUND = [LOOP, started("agent", "1"), ended("agent", "1"), started("tools", "2"), started("tools", "3"), ended("tools", "3", { latency_ms: 5 }), ended("tools", "2"), started("agent", "4")];

describe("advance", () => {
  it("follows each visit of each node, also several at once", () => {
    const turn = played(ROUND);
    expect(turn).toMatchObject({ runId: "r1", threadId: "t1" });
    expect(turn.nodes.map(({ id }) => id)).toEqual(["__start__", "agent", "tools", "__end__"]);
    expect(activityOf(turn, "agent")).toEqual({ state: "running", visits: 2, totalMs: 20, since: 1_000 });
    expect(activityOf(turn, "tools")).toEqual({ state: "ok", visits: 2, totalMs: 25, since: undefined });
    expect(activityOf(turn, "__start__").state).toBe("ok");
    expect(activityOf(turn, "__end__").state).toBe("idle");
    expect(activityOf(played([ended("agent", "4"), completed("completed")], turn), "__end__").state).toBe("ok");
  });

  it("counts an event that comes twice once, whatever came between", () => {
    const events = [...ROUND, ended("agent", "4"), skipped("tools"), completed("completed")];
    const turn = played(events);
    expect(played(events.filter(({ type }) => type !== "turn_completed"), turn)).toEqual(turn);
  });

  it.each(["ok", "error", "interrupted", "cancelled"] as const)("keeps the outcome %s", (outcome) => {
    expect(activityOf(played([started("agent", "1"), ended("agent", "1", { outcome })]), "agent").state).toBe(outcome);
  });

  it("knows a skipped node from one that ran, and from one that was not reached", () => {
    const turn = played([LOOP, started("agent", "1"), ended("agent", "1"), skipped("tools"), completed("completed")]);
    expect(activityOf(turn, "tools")).toMatchObject({ state: "skipped", visits: 0 });
    expect(activityOf(played([LOOP]), "tools").state).toBe("idle");
  });

  it("keeps nodes of subgraphs apart by their path", () => {
    const inside = { path: ["outer", "speak"] };
    const turn = played([topology(["outer", "outer:speak", "speak"], []), started("speak", "1", inside), ended("speak", "1", inside)]);
    expect(activityOf(turn, "outer:speak").visits).toBe(1);
    expect(activityOf(turn, "speak").visits).toBe(0);
    expect(turn.nodes.find(({ id }) => id === "outer:speak")).toEqual({ id: "outer:speak", name: "speak", parent: "outer" });
  });

  it("goes on after an answer as one turn, and adds the human waits", () => {
    const asked = { interrupt_id: "i1" };
    const first = played([LOOP, started("tools", "1"), ended("tools", "1", { outcome: "interrupted" }), { ...head, type: "paused", interrupts: [asked] }, completed("paused", { interrupts: [asked] })]);
    expect(first).toMatchObject({ interrupts: [asked], pausedAt: 1_000, humanWaitMs: undefined });
    const next = { run_id: "r2" };
    const second = played([{ ...LOOP, ...next }, started("tools", "1", next), ended("tools", "1", next), { ...completed("completed"), ...next, human_wait_ms: 900 }], answered(first));
    expect(second).toMatchObject({ runId: "r2", interrupts: [], humanWaitMs: 900 });
    expect(activityOf(second, "tools")).toMatchObject({ state: "ok", visits: 2 });
    expect(played([{ ...completed("completed"), human_wait_ms: 100 }], answered(second)).humanWaitMs).toBe(1_000);
  });

  it("joins tokens, one paragraph for each message", () => {
    const token = (message_id: string, delta: string) => ({ ...head, type: "token", message_id, delta });
    expect(played([token("m1", "Let me "), token("m1", "see."), token("m2", "It is so.")]).text).toBe("Let me see.\n\nIt is so.");
  });

  it("has the error of an event, or else of the response", () => {
    const error = { code: "internal", message: "No." };
    expect(played([{ ...head, type: "error", ...error }, completed("failed", { error })]).error).toMatchObject(error);
    expect(played([completed("failed", { error })]).error).toEqual(error);
  });

  it("leaves what it does not know", () => {
    const turn = played(ROUND);
    for (const event of [{ type: "new_kind", run_id: "r9" }, {}, { type: 7 }]) expect(advance(turn, event)).toBe(turn);
    for (const event of [{ type: "node_started" }, { type: "graph_topology", nodes: "x", edges: [7, { source: "a" }] }, { type: "paused" }, { type: "turn_completed" }, { type: "token", delta: 7 }]) {
      expect(() => advance(turn, event)).not.toThrow();
    }
  });
});

describe("taken", () => {
  it("follows a loop and its end", () => {
    expect(lit(played(ROUND))).toEqual(["__start__>agent", "agent>tools", "tools>agent"]);
    expect(lit(played([...ROUND, ended("agent", "4"), completed("completed")]))).toEqual(["__start__>agent", "agent>__end__", "agent>tools", "tools>agent"]);
  });

  const FORK = topology(["__start__", "a", "b", "c", "join", "other", "__end__"], [
    ["__start__", "a"],
    ["__start__", "b"],
    ["a", "join"],
    ["b", "join"],
    ["join", "other", true],
    ["join", "__end__", true],
    ["other", "__end__"],
  ]);
  const end = [started("join", "3"), ended("join", "3"), skipped("other"), completed("completed")];
  const expected = ["__start__>a", "__start__>b", "a>join", "b>join", "join>__end__"];

  it("follows branches side by side, and no route that was left out", () => {
    expect(lit(played([FORK, started("a", "1"), started("b", "2"), ended("a", "1"), ended("b", "2"), ...end]))).toEqual(expected);
  });

  it("is not misled by a branch that was over before its sibling began", () => {
    expect(lit(played([FORK, started("a", "1"), ended("a", "1"), started("b", "2"), ended("b", "2"), ...end]))).toEqual(expected);
  });

  it("does not say that a turn came to the end when it was stopped", () => {
    expect(lit(played([FORK, started("a", "1"), ended("a", "1", { outcome: "cancelled" }), completed("cancelled")]))).toEqual(["__start__>a"]);
  });
});

describe("turnOf", () => {
  const run = (node: string, started_at: number, latency_ms: number, outcome = "ok") => ({ node, path: [node], task_id: `${node}-${started_at}`, started_at, latency_ms, outcome });
  const response = {
    thread_id: "t1",
    run_id: "r1",
    status: "completed",
    reply: null,
    interrupts: [],
    error: null,
    latency: [run("plan", 100, 50), run("left", 151, 40), run("right", 152, 90), run("join", 243, 5), run("plan", 250, 10), { ...run("escalate", 0, 0, "skipped"), started_at: null, task_id: null }],
  };

  it("draws the graph from what ran, in the order in which it began", () => {
    const turn = turnOf(response);
    expect(turn.nodes.map(({ id }) => id)).toEqual(["__start__", "plan", "left", "right", "join", "escalate", "__end__"]);
    expect(turn.edges.map(({ source, target }) => `${source}>${target}`)).toEqual(["__start__>plan", "plan>left", "plan>right", "left>join", "right>join", "join>plan", "plan>__end__"]);
    expect(activityOf(turn, "plan")).toEqual({ state: "ok", visits: 2, totalMs: 60, since: undefined });
    expect(activityOf(turn, "escalate").state).toBe("skipped");
    expect(lit(turn)).toHaveLength(7);
    expect(turn).toMatchObject({ runId: "r1", threadId: "t1", response });
  });

  it("takes an answer without any node", () => {
    expect(turnOf({ status: "failed", error: { message: "No." } })).toMatchObject({ tasks: [], error: { message: "No." } });
  });
});

describe("Delivery", () => {
  const of = (pairs: readonly (readonly [number, number])[]) => {
    const delivery = new Delivery();
    for (const [at, arrivedAt] of pairs) delivery.add(at, arrivedAt);
    return delivery;
  };

  it("is content when events come as they happen, however the clocks differ", () => {
    expect(of([[0, 500_010], [1_000, 501_030], [9_000, 509_005]]).held).toBeUndefined();
    expect(of([[0, 0], [3_000, 3_400]]).held).toBeUndefined();
    expect(of([[5, 900]]).held).toBeUndefined();
    expect(of([]).held).toBeUndefined();
  });

  it("says so when all came at once", () => {
    expect(of([[0, 4_000], [1_000, 4_001], [2_000, 4_002], [4_000, 4_003]]).held).toEqual({ heldMs: 3_997, oneBlock: true });
  });

  it("says so when they came in blocks", () => {
    expect(of([[0, 2_000], [1_900, 2_001], [2_100, 4_000], [3_950, 4_001]]).held).toEqual({ heldMs: 1_949, oneBlock: false });
  });

  it("does not take a fast turn for a held one", () => {
    expect(of([[0, 300], [290, 301]]).held).toBeUndefined();
  });

  it("knows how far the clocks are apart", () => {
    expect(of([[0, 70], [100, 160]]).skewMs).toBe(60);
    expect(of([]).skewMs).toBe(0);
  });
});

it.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [999.7, "1.0 s"],
  [1_000, "1.0 s"],
  [59_949, "59.9 s"],
  [59_960, "1 min 0 s"],
  [125_000, "2 min 5 s"],
  [3_600_000, "1 h 0 min"],
  [7_500_000, "2 h 5 min"],
])("%d ms are %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});
