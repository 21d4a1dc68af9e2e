import { describe, expect, it } from "vitest";
import { Problem } from "../../middle_core/graph_page/problem.js";
import { ConnectionLost, readTurn, type Step } from "../../middle_core/graph_page/reading.js";
import { advance, NEW_TURN } from "../../middle_core/graph_page/turn.js";
import { pieces, seeded } from "./random";

type Event = Record<string, unknown>;

const RUN = "r-1";
const encode = (text: string) => new TextEncoder().encode(text);

/** A turn's events as records: one frame each, or several of which only the last has the id. */
function records(random: () => number, count: number): Event[][] {
  const head = { run_id: RUN, thread_id: "t", at: 1 };
  const nodes = Array.from({ length: count }, (_, at) => [{ ...head, type: "node_started", node: `näme ${at}`, task_id: `${at}`, started_at: at }, { ...head, type: "node_completed", node: `näme ${at}`, task_id: `${at}`, latency_ms: 1, outcome: "ok" }]);
  const body = nodes.flatMap(([started = {}, ended = {}]) => (random() < 0.3 ? [[started, ended]] : [[started], [ended]]));
  const completed = { ...head, type: "turn_completed", response: { status: "completed" } };
  return [[{ ...head, type: "graph_topology", nodes: [], edges: [] }], ...body, random() < 0.5 ? [completed] : [{ ...head, type: "paused", interrupts: [] }, completed]];
}

function bytesFrom(all: readonly Event[][], after: number, random: () => number): Uint8Array {
  const frames = all.flatMap((record, at) => (at < after ? [] : record.map((event, place) => `event: ${String(event.type)}\n${place === record.length - 1 ? `id: ${RUN}:${at + 1}\n` : ""}data: ${JSON.stringify(event)}\n\n${random() < 0.2 ? ": keep-alive\n\n" : ""}`)));
  return encode(`: hello\n\nretry: 20\n\n${frames.join("")}`);
}

function streamed(chunks: readonly Uint8Array[], end: "close" | "error" | "hang", headers: Record<string, string> = {}): Response {
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (end === "close") controller.close();
      else if (end === "error") controller.error(new TypeError("network error"));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8", ...headers } });
}

const json = (status: number, body: unknown, type = "application/json") => new Response(JSON.stringify(body), { status, headers: { "content-type": type } });

interface Server {
  readonly start?: () => Promise<Response>;
  readonly follow?: (runId: string, lastId: string) => Promise<Response>;
  readonly silenceMs?: number;
}

/** Reads to the end; what it saw, and how long it was told to wait. */
async function read(server: Server, signal = new AbortController().signal) {
  const steps: Step[] = [];
  const waits: number[] = [];
  const cursor = { runId: "", lastId: "" };
  const nobody = () => Promise.reject(new Error("nobody should ask for this"));
  const reading = readTurn({
    start: server.start ?? nobody,
    follow: server.follow ?? nobody,
    cursor,
    wait: async (ms) => void waits.push(ms),
    now: () => 5,
    signal,
    ...(server.silenceMs !== undefined && { silenceMs: server.silenceMs }),
  });
  for await (const step of reading) steps.push(step);
  return { steps, waits, cursor, events: steps.flatMap((step) => (step.kind === "event" ? [step.event] : [])) };
}

describe("readTurn", () => {
  it("ends with the turn, and knows where it stands", async () => {
    const all = records(() => 0.9, 2);
    const { steps, events, cursor, waits } = await read({ start: async () => streamed([bytesFrom(all, 0, () => 1)], "hang", { "x-run-id": RUN }) });
    expect(events).toEqual(all.flat());
    expect(steps[0]).toEqual({ kind: "link", open: true, failures: 0 });
    expect(steps[1]).toMatchObject({ kind: "event", arrivedAt: 5, first: true });
    expect(cursor).toEqual({ runId: RUN, lastId: `${RUN}:${all.length}` });
    expect(waits).toEqual([]);
  });

  it("sees each event once, wherever and however often the connection is cut", async () => {
    for (let seed = 0; seed < 250; seed += 1) {
      const random = seeded(seed);
      const all = records(random, 1 + Math.floor(random() * 12));
      let budget = 6;
      const asked: string[] = [];
      const answer = async (after: number): Promise<Response> => {
        budget -= 1;
        if (budget > 0 && random() < 0.15) throw new TypeError("Failed to fetch");
        if (budget > 0 && random() < 0.1) return json(503, { code: "draining", retry_after: 1 }, "application/problem+json");
        const bytes = bytesFrom(all, after, random);
        const whole = budget <= 0 || random() < 0.2;
        const sent = whole ? bytes : bytes.subarray(0, Math.floor(random() * bytes.length));
        return streamed(pieces(sent, random, 60), random() < 0.5 ? "close" : "error", random() < 0.5 ? { "x-run-id": RUN } : {});
      };
      const { events } = await read({
        start: () => answer(0),
        follow: (runId, lastId) => {
          expect(runId).toBe(RUN);
          asked.push(lastId);
          return answer(lastId === "" ? 0 : Number(lastId.split(":")[1]));
        },
      });
      const whole = all.flat();
      const once = events.filter((event, at) => events.findIndex((other) => JSON.stringify(other) === JSON.stringify(event)) === at);
      expect(once, `seed ${seed}`).toEqual(whole);
      // Of a record in several frames the first may come again; the turn is the same.
      expect(events.reduce(advance, NEW_TURN), `seed ${seed}`).toEqual(whole.reduce(advance, NEW_TURN));
      expect(asked, `seed ${seed}`).toEqual(asked.toSorted((a, b) => Number(a.split(":")[1] ?? 0) - Number(b.split(":")[1] ?? 0)));
    }
  });

  it("waits as the server asks at first, then longer, and gives up after a while", async () => {
    const waits: number[] = [];
    const failures: number[] = [];
    const cursor = { runId: "", lastId: "" };
    const reading = readTurn({
      start: async () => streamed([encode(`retry: 1000\n\nid: ${RUN}:1\ndata: {}\n\n`)], "close"),
      follow: () => Promise.reject(new TypeError("Failed to fetch")),
      cursor,
      wait: async (ms) => void waits.push(ms),
      now: () => 0,
      signal: new AbortController().signal,
    });
    await expect(async () => {
      for await (const step of reading) if (step.kind === "link" && !step.open) failures.push(step.failures);
    }).rejects.toThrow(ConnectionLost);
    expect(waits.slice(0, 7)).toEqual([1_000, 500, 1_000, 2_000, 4_000, 8_000, 8_000]);
    expect(waits).toHaveLength(16);
    expect(failures).toEqual(waits.map((_, at) => at + 1));
    expect(cursor.lastId).toBe(`${RUN}:1`);
  });

  it("goes on behind a cursor that it is given", async () => {
    const all = records(() => 0.9, 1);
    const cursor = { runId: RUN, lastId: `${RUN}:2` };
    const events: Event[] = [];
    const reading = readTurn({
      start: () => Promise.reject(new Error("it has begun")),
      follow: async (_, lastId) => streamed([bytesFrom(all, Number(lastId.split(":")[1]), () => 1)], "close"),
      cursor,
      wait: () => Promise.reject(new Error("no need to wait")),
      now: () => 0,
      signal: new AbortController().signal,
    });
    for await (const step of reading) {
      if (step.kind !== "event") continue;
      expect(step.first).toBe(false);
      events.push(step.event);
    }
    expect(events).toEqual(all.slice(2).flat());
  });

  it("takes the JSON answer where there is no stream", async () => {
    const { steps } = await read({ start: async () => json(200, { status: "completed" }) });
    expect(steps).toEqual([{ kind: "json", response: { status: "completed" } }]);
  });

  it("takes a whole stream at once where a body cannot be read", async () => {
    const all = records(() => 0.9, 2);
    const text = new TextDecoder().decode(bytesFrom(all, 0, () => 1));
    const old = { ok: true, headers: new Headers({ "content-type": "text/event-stream" }), text: async () => text } as unknown as Response;
    expect((await read({ start: async () => old })).events).toEqual(all.flat());
  });

  it.each([400, 401, 403, 404, 409, 413, 500])("says what the server says with status %d, and does not try again", async (status) => {
    const problem = json(status, { code: "thread_busy", title: "Busy", detail: "Wait for it.", correlation_id: "c1" }, "application/problem+json");
    const failed = await read({ start: async () => problem }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Problem);
    expect(failed).toMatchObject({ status, code: "thread_busy", title: "Busy", message: "Wait for it.", correlationId: "c1" });
  });

  it("waits as long as a server that is busy says", async () => {
    const answers = [json(429, { retry_after: 7 }, "application/problem+json"), streamed([bytesFrom(records(() => 0.9, 0), 0, () => 1)], "close")];
    const { waits } = await read({ start: async () => answers.shift() ?? Promise.reject(new Error("asked too often")) });
    expect(waits).toEqual([7_000]);
  });

  it("does not take a proxy's page for an answer", async () => {
    const page = (status: number) => new Response("<h1>Sign in</h1>", { status, headers: { "content-type": "text/html" } });
    await expect(read({ start: async () => page(200) })).rejects.toThrow("Something between");
    await expect(read({ start: async () => page(403) })).rejects.toThrow("status 403");
  });

  it("does not believe in a connection that has gone silent", async () => {
    const all = records(() => 0.9, 1);
    const first = encode(`id: ${RUN}:1\ndata: ${JSON.stringify(all[0]?.[0])}\n\n`);
    const { events } = await read({ start: async () => streamed([first], "hang"), follow: async () => streamed([bytesFrom(all, 1, () => 1)], "close"), silenceMs: 20 });
    expect(events).toEqual(all.flat());
  });

  it("passes over what is no event", async () => {
    const bytes = encode('data: not JSON\n\ndata: [1]\n\ndata: {"type":"turn_completed"}\n\n');
    expect((await read({ start: async () => streamed([bytes], "close") })).events).toEqual([{ type: "turn_completed" }]);
  });

  it("ends without a word when it is told to leave", async () => {
    const leaving = new AbortController();
    const { steps } = await read(
      {
        start: async () => {
          leaving.abort();
          throw new DOMException("aborted", "AbortError");
        },
      },
      leaving.signal,
    );
    expect(steps).toEqual([]);
  });
});
