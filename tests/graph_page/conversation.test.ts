import { describe, expect, it } from "vitest";
import { Conversation } from "../../middle_core/graph_page/conversation.js";
import { outcomeOf, replyOf } from "../../middle_core/graph_page/entry.js";
import { completed, ended, type Event, head, LOOP, started } from "./events";

interface Asked {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Event;
}

const problem = (status: number, code: string) => new Response(JSON.stringify({ code, title: "No", detail: "Not now." }), { status, headers: { "content-type": "application/problem+json" } });
const json = (body: Event) => new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
const stream = (...events: readonly Event[]) =>
  new Response(events.map((event, index) => `id: r1:${index + 1}\ndata: ${JSON.stringify(event)}\n\n`).join(""), { headers: { "content-type": "text/event-stream" } });

const QUESTIONS = [{ interrupt_id: "i1" }, { interrupt_id: "i2" }];
const TURN = [LOOP, started("agent", "1"), ended("agent", "1")];
const PAUSE = [...TURN, { ...head, type: "paused", interrupts: QUESTIONS }, completed("paused", { interrupts: QUESTIONS })];

/** A conversation with a server that gives these answers, one for each request. Each action resolves when its turn has ended. */
function talking(...answers: readonly (() => Response | Promise<Response>)[]) {
  const left = [...answers];
  const asked: Asked[] = [];
  const unsent: string[] = [];
  let ended = (): void => undefined;
  const conversation = new Conversation({
    request: async (path, { headers = {}, body = "{}" } = {}) => {
      asked.push({ path, headers, body: JSON.parse(body) as Event });
      const answer = left.shift();
      if (answer === undefined) throw new Error(`Nobody expected ${path}.`);
      return await answer();
    },
    canStream: true,
    now: () => 2_000,
    onChange: () => undefined,
    onProgress: () => undefined,
    onEnd: () => { ended(); },
    onUnsent: (message) => unsent.push(message),
  });
  const untilEnd = (act: () => void) =>
    new Promise<void>((resolve) => {
      ended = resolve;
      act();
    });
  return { conversation, asked, unsent, untilEnd, say: (message: string) => untilEnd(() => { conversation.send(message, "a"); }) };
}

describe("Conversation", () => {
  it("goes on in the thread that the first turn began", async () => {
    const { conversation, asked, say } = talking(() => stream(...TURN, completed("completed")), () => stream(completed("refused")));
    await say("first");
    await say("second");
    expect(asked.map(({ path, body }) => [path, body])).toEqual([
      ["chat?tokens=1", { message: "first", agent: "a" }],
      ["chat?tokens=1", { message: "second", agent: "a", thread_id: "t1" }],
    ]);
    expect(asked[0]?.headers["Idempotency-Key"]).not.toBe(asked[1]?.headers["Idempotency-Key"]);
    expect(conversation.entries.map((entry) => outcomeOf(entry).words)).toEqual(["Completed", "Refused"]);
  });

  it("repeats a request whose answer was lost under the same key", async () => {
    const { conversation, asked, say } = talking(() => Promise.reject(new TypeError("Failed to fetch")), () => stream(completed("completed")));
    await say("once");
    expect(asked).toHaveLength(2);
    expect(asked[0]?.headers).toEqual(asked[1]?.headers);
    expect(conversation.entries).toHaveLength(1);
  });

  it("gives back a message that the server did not take", async () => {
    const { conversation, unsent, say } = talking(() => problem(409, "thread_busy"));
    await say("too early");
    expect(unsent).toEqual(["too early"]);
    expect(conversation.last.phase).toBe("failed");
    expect(conversation.failure?.message).toBe("Not now.");
  });

  it("sends the answers when each question has one, and goes on with the same turn", async () => {
    const { conversation, asked, say, untilEnd } = talking(() => stream(...PAUSE), () => stream(started("agent", "2"), ended("agent", "2"), completed("completed")));
    await say("delete it");
    expect(conversation.last.phase).toBe("paused");
    conversation.answer("i1", { decision: "approve" });
    expect(asked).toHaveLength(1);
    await untilEnd(() => { conversation.answer("i2", { decision: "reject" }); });
    expect(asked[1]).toMatchObject({
      path: "chat/resume?tokens=1",
      body: { thread_id: "t1", answers: [{ interrupt_id: "i1", decision: "approve" }, { interrupt_id: "i2", decision: "reject" }] },
    });
    expect(conversation.entries).toHaveLength(1);
    expect(conversation.last.turn.tasks).toHaveLength(2);
    expect(outcomeOf(conversation.last).words).toBe("Completed");
  });

  it.each([
    ["thread_busy", "paused", "Waiting for your answer"],
    ["interrupt_unknown", "failed", "Not accepted"],
  ])("an answer that is refused with %s leaves the turn %s", async (code, phase, words) => {
    const { conversation, say, untilEnd } = talking(() => stream(...PAUSE), () => problem(409, code));
    await say("delete it");
    conversation.answer("i1", { decision: "approve" });
    await untilEnd(() => { conversation.answer("i2", { decision: "approve" }); });
    await expect.poll(() => conversation.last.phase).toBe(phase);
    expect(outcomeOf(conversation.last).words).toBe(words);
    expect(conversation.last.turn.interrupts).toEqual(phase === "paused" ? QUESTIONS : []);
  });

  it("a message withdraws what was asked", async () => {
    const { conversation, say } = talking(() => stream(...PAUSE), () => stream(completed("completed")));
    await say("delete it");
    await say("never mind");
    expect(conversation.entries.map((entry) => outcomeOf(entry).words)).toEqual(["Withdrawn", "Completed"]);
  });

  it("says when a stop did not reach the server", async () => {
    const { conversation, say } = talking(() => stream(completed("completed")), () => problem(503, "draining"));
    await say("hello");
    await conversation.stop();
    expect(conversation.failure?.message).toMatch(/^It was not stopped\. No\. Not now\./);
    expect(conversation.isStopping).toBe(false);
  });

  it("a stop before anything is known ends the turn here", async () => {
    const { conversation } = talking(() => new Promise<Response>(() => undefined));
    conversation.send("hello", "a");
    await conversation.stop();
    expect(outcomeOf(conversation.last).words).toBe("Stopped");
  });

  it("draws the turn from the JSON answer where no events come", async () => {
    const reply = { parts: [{ type: "text", text: "It is so." }] };
    const { conversation, say } = talking(() => json({ status: "completed", thread_id: "t9", run_id: "r9", reply, latency: [{ node: "a", started_at: 1, latency_ms: 2, outcome: "ok" }] }));
    await say("hello");
    expect(conversation.isWithoutEvents).toBe(true);
    expect(conversation.threadId).toBe("t9");
    expect(replyOf(conversation.last.turn)).toBe("It is so.");
    expect(conversation.last.turn.tasks).toHaveLength(1);
  });

  it("forgets all when it is cleared, also a turn that is being read", async () => {
    const { conversation, say } = talking(() => stream(...PAUSE), () => new Promise<Response>(() => undefined));
    await say("delete it");
    conversation.send("again", "a");
    conversation.clear();
    expect([conversation.entries, conversation.threadId, conversation.last.phase]).toEqual([[], "", "idle"]);
  });
});
