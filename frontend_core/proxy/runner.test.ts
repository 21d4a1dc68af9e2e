import { once } from "node:events";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { Proxy } from "./proxy";
import { all, connect, events, get, input, post, run, stop, textOf, TOKEN } from "./testing/browser";
import { type Event, FakeMiddleCore, frame, json, problem, RUN, script, STREAM_HEADERS } from "./testing/fake";
import { until, within } from "./testing/wait";

let core: FakeMiddleCore;
let proxy: Proxy;

async function renew(...config: Parameters<FakeMiddleCore["config"]>): Promise<void> {
  await proxy.close();
  proxy = new Proxy(core.config(...config));
}

beforeEach(async () => {
  core = await FakeMiddleCore.start();
  core.log = script(["Hello", " world"]);
  proxy = new Proxy(core.config());
});

afterEach(async () => {
  await proxy.close();
  await core.stop();
});

const reattach = (reason: string, retryAfterMs = 0) => frame({ type: "CUSTOM", name: "middle_core.reattach", value: { reason, retryAfterMs } }, null);
const frames = (list: readonly Event[], from = 0) => list.map((event, index) => frame(event, from + index + 1)).join("");
const last = (list: readonly Event[]) => list.at(-1);

describe("run", () => {
  it("passes a run's events on, each once and in order", async () => {
    expect(await all(await proxy.copilotkit(run()))).toEqual(core.log);
  });

  it("says the first byte at once and holds nothing back", async () => {
    let send: (event: Event, seq: number) => void = () => undefined;
    let end: () => void = () => undefined;
    core.answers.push({
      path: /^\/copilotkit$/,
      answer: (response) => {
        response.writeHead(200, STREAM_HEADERS).write(": middle-core\n\n");
        send = (event, seq) => response.write(frame(event, seq));
        end = () => response.end();
      },
    });
    const response = await within("the response", proxy.copilotkit(run()));
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    const list = events(response);
    for (const [index, event] of core.log.entries()) {
      send(event, index + 1); // The next event is sent only after this one has arrived.
      expect((await within("the event", list.next())).value).toEqual(event);
    }
    end();
  });

  it("posts the input, the token byte for byte, the trace, and no other header of the browser", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { traceparent, cookie: "session=1", "x-api-key": "evil", "x-forwarded-for": "1.2.3.4", "x-user-id": "bob" };
    await all(await proxy.copilotkit(run({}, { headers })));
    const [seen] = core.seen;
    expect(seen?.headers.authorization).toBe(TOKEN);
    expect(seen?.headers.traceparent).toBe(traceparent);
    expect(JSON.parse(seen?.body ?? "")).toEqual(input());
    for (const name of ["cookie", "x-api-key", "x-forwarded-for", "x-user-id", "origin", "sec-fetch-site"]) expect(seen?.headers).not.toHaveProperty(name);
  });

  it("names another agent in the path", async () => {
    await all(await proxy.copilotkit(post("/api/copilotkit/agent/support/run", input())));
    expect(core.seen[0]?.path).toBe("/copilotkit/support");
  });

  it("carries a resume on", async () => {
    const resume = [{ interruptId: "i1", status: "resolved", payload: false }];
    await all(await proxy.copilotkit(run({ resume })));
    expect(JSON.parse(core.seen[0]?.body ?? "")).toMatchObject({ resume });
  });

  it("drops what the installed client cannot parse", async () => {
    core.log = script(["a"]);
    core.log.splice(2, 0, { type: "FROM_THE_FUTURE", x: 1 });
    expect(await all(await proxy.copilotkit(run()))).toEqual(script(["a"]));
  });

  it("ends with the event that the log ends with after a restart", async () => {
    const lost = [...core.log.slice(0, 4), { type: "TEXT_MESSAGE_END", messageId: "m1" }, { type: "RUN_ERROR", message: "Restarted.", code: "run_lost" }];
    core.log = lost;
    core.cuts = [200];
    expect(await all(await proxy.copilotkit(run()))).toEqual(lost);
  });

  it.each(["drain", "max_age", "lagging"])("comes back when asked to (%s), after the pause and unseen by the browser", async (reason) => {
    core.answers.push({
      path: /^\/copilotkit$/,
      answer: (response) => {
        response.writeHead(200, STREAM_HEADERS).end(frames(core.log.slice(0, 4)) + reattach(reason, 60));
      },
    });
    const began = Date.now();
    expect(await all(await proxy.copilotkit(run()))).toEqual(core.log);
    expect(Date.now() - began).toBeGreaterThanOrEqual(60);
    expect(core.seen.at(-1)?.headers["last-event-id"]).toBe(`${RUN}:4`);
  });

  it("comes back for longer than it would wait for a server that is away, as long as it is asked to", async () => {
    await renew({ awayMs: 100 });
    const began = Date.now();
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).end(frames(core.log.slice(0, 3)) + reattach("max_age")); } });
    for (let count = 0; count < 5; count += 1) core.answers.push({ path: /events$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).end(reattach("max_age", 60)); } });
    expect(await all(await proxy.copilotkit(run()))).toEqual(core.log);
    expect(Date.now() - began).toBeGreaterThan(200);
  });

  it("asks for a new sign-in when the token ends within a stream", async () => {
    core.answers.push({
      path: /^\/copilotkit$/,
      answer: (response) => {
        response.writeHead(200, STREAM_HEADERS).end(frames(core.log.slice(0, 4)) + reattach("token_expired"));
      },
    });
    const shown = await all(await proxy.copilotkit(run()));
    expect(shown.slice(0, -1)).toEqual(core.log.slice(0, 4));
    expect(last(shown)).toMatchObject({ type: "RUN_ERROR", code: "unauthorized" });
    expect(core.seen).toHaveLength(1);
  });

  it("comes back when a stream falls silent for longer than the watchdog", async () => {
    await renew({ silenceMs: 80 });
    core.answers.push({
      path: /^\/copilotkit$/,
      answer: (response) => {
        response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 3)));
      },
    });
    expect(await all(await proxy.copilotkit(run()))).toEqual(core.log);
    await within("the silent connection's end", core.seen[0]?.left ?? Promise.reject(new Error("no request")));
  });

  it("takes heartbeats for a sign of life", async () => {
    await renew({ silenceMs: 200 });
    core.answers.push({
      path: /^\/copilotkit$/,
      answer: (response) => {
        response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 3)));
        let beats = 0;
        const timer = setInterval(() => {
          response.write(": keep-alive\n\n");
          if (++beats < 12) return;
          clearInterval(timer);
          response.end(frames(core.log.slice(3), 3));
        }, 40); // 480 ms in all: more than two watchdogs.
      },
    });
    expect(await all(await proxy.copilotkit(run()))).toEqual(core.log);
    expect(core.seen).toHaveLength(1);
  });

  it("does not take a slow browser for a silent server", async () => {
    await renew({ silenceMs: 60 });
    core.log = script(Array.from({ length: 600 }, (_, index) => `${index} `));
    const list = events(await proxy.copilotkit(run()));
    const shown = [(await list.next()).value as Event];
    await expect(until("another request", () => core.seen.length > 1, 240)).rejects.toThrow("Not within"); // Four watchdogs long.
    for await (const event of list) shown.push(event);
    expect(shown).toEqual(core.log);
    expect(core.seen).toHaveLength(1);
  });

  it("survives middle-core's death and goes on when it is back", async () => {
    await renew({ awayMs: 5_000 });
    const { port } = core;
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 4))); } });
    const list = events(await proxy.copilotkit(run()));
    const shown: Event[] = [];
    for (let count = 0; count < 4; count += 1) shown.push((await list.next()).value as Event);
    const { log } = core;
    await core.stop();
    const rest = list.next();
    core = await FakeMiddleCore.start(port);
    core.log = log;
    shown.push((await within("the first event after the restart", rest)).value as Event);
    for await (const event of list) shown.push(event);
    expect(shown).toEqual(log);
  });

  it("says in clear words that middle-core stays away, once, and keeps what was shown", async () => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 4))); } });
    const list = events(await proxy.copilotkit(run()));
    const shown = [(await list.next()).value as Event];
    const { port } = core;
    await core.stop();
    for await (const event of list) shown.push(event);
    core = await FakeMiddleCore.start(port);
    expect(shown.slice(0, -1)).toEqual(script(["Hello", " world"]).slice(0, 4));
    expect(last(shown)).toEqual({
      type: "RUN_ERROR",
      code: "draining",
      message: "The assistant cannot be reached right now. What was written is kept; try again in a moment.",
    });
  });

  it("starts a legal stream also when there is nothing but an error to say", async () => {
    await renew({ verdictMs: 20 });
    const { port } = core;
    await core.stop();
    const shown = await all(await proxy.copilotkit(run()));
    core = await FakeMiddleCore.start(port);
    expect(shown).toMatchObject([{ type: "RUN_STARTED", threadId: "t1", runId: "r1" }, { type: "RUN_ERROR", code: "draining" }]);
  });

  it("does not ask a server in a circle that accepts and breaks", async () => {
    core.log = core.log.slice(0, 3);
    const shown = await all(await proxy.copilotkit(run()));
    expect(last(shown)).toMatchObject({ type: "RUN_ERROR", code: "draining" });
    expect(core.seen.length).toBeLessThan(60);
  });

  it.each([
    [404, "not_found", "run_lost"],
    [400, "invalid_request", "run_lost"],
    [401, "unauthorized", "unauthorized"],
    [403, "forbidden", "forbidden"],
  ])("ends typed when a re-attach is answered with %i", async (status, code, shownCode) => {
    core.cuts = [300];
    core.answers.push({ path: /events$/, answer: (response) => { problem(response, status, code); } });
    expect(last(await all(await proxy.copilotkit(run())))).toMatchObject({ type: "RUN_ERROR", code: shownCode });
  });

  it.each([
    [503, "draining"],
    [429, "rate_limited"],
    [500, "internal"],
  ])("tries again when a re-attach is answered with %i", async (status, code) => {
    core.cuts = [300];
    core.answers.push({ path: /events$/, answer: (response) => { problem(response, status, code); } });
    expect(await all(await proxy.copilotkit(run()))).toEqual(core.log);
  });

  it.each([
    [502, "text/html", "<html>bad gateway</html>"],
    [504, "text/plain", "stream timeout"],
    [504, "text/plain", "upstream request timeout"],
    [200, "text/html", "<html>we are back soon</html>"],
  ])("takes an ingress's %i %s for an absence and tries again", async (status, type, body) => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(status, { "content-type": type }).end(body); } });
    expect(await all(await proxy.copilotkit(run()))).toEqual(core.log);
    expect(core.to(/^\/copilotkit$/)).toHaveLength(2);
  });

  it("ends typed, without going round, at a frame that is too large or no JSON", async () => {
    for (const data of ["x".repeat(5_000), "{broken"]) {
      await renew({}, { maxFrameChars: 4_000 });
      core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).end(`${frames(core.log.slice(0, 2))}id: ${RUN}:3\ndata: ${data}\n\n`); } });
      core.seen.length = 0;
      const shown = await all(await proxy.copilotkit(run()));
      expect(last(shown)).toMatchObject({ type: "RUN_ERROR", code: "internal" });
      expect(JSON.stringify(shown)).not.toContain(data.slice(0, 5));
      expect(core.seen).toHaveLength(1);
    }
  });

  it("leaves within a second when the browser does, and cancels nothing", async () => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 3))); } });
    const browser = new AbortController();
    const response = await proxy.copilotkit(run({}, { signal: browser.signal }));
    const list = events(response);
    await list.next();
    browser.abort();
    await within("the upstream's end", core.seen[0]?.left ?? Promise.reject(new Error("no request")), 1_000);
    expect(core.seen.map((seen) => seen.path)).toEqual(["/copilotkit"]);
  });

  it("leaves within a second when only the response's body is given up", async () => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 3))); } });
    const response = await proxy.copilotkit(run());
    await response.body?.cancel();
    await within("the upstream's end", core.seen[0]?.left ?? Promise.reject(new Error("no request")), 1_000);
  });

  it("ends its streams when the process is told to, and takes no new ones", async () => {
    core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 3))); } });
    const list = events(await proxy.copilotkit(run()));
    for (let count = 0; count < 3; count += 1) await list.next();
    const rest = list.next();
    proxy.drain();
    expect((await within("the stream's end", rest, 1_000)).done).toBe(true);
    await within("the upstream's end", core.seen[0]?.left ?? Promise.reject(new Error("no request")), 1_000);
    expect((await proxy.copilotkit(run())).status).toBe(503);
    expect(core.seen).toHaveLength(1);
  });

  it("does not go on trying for a browser that left", async () => {
    await renew({ startMs: 60_000, verdictMs: 10, backoffMs: 10 });
    for (let count = 0; count < 1_000; count += 1) core.answers.push({ path: /^\/copilotkit$/, answer: (response) => { problem(response, 503, "draining"); } });
    const response = await proxy.copilotkit(run());
    await until("some tries", () => core.seen.length > 2);
    await response.body?.cancel();
    const { length } = core.seen;
    await expect(until("another try", () => core.seen.length > length + 1, 200)).rejects.toThrow("Not within");
  });

  it("reads no further than a slow browser takes, and lets go of one that takes nothing", async () => {
    await renew({ stallMs: 300 });
    let written = 0;
    core.answers.push({
      path: /^\/copilotkit$/,
      answer: async (response, seen) => {
        response.writeHead(200, STREAM_HEADERS).write(frames(script([]).slice(0, 3)));
        const filler = "x".repeat(16_000);
        for (let seq = 4; !response.destroyed && written < 200e6; seq += 1) {
          const data = frame({ type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: filler }, seq);
          written += data.length;
          if (!response.write(data)) await Promise.race([once(response, "drain"), seen.left]);
        }
      },
    });
    await proxy.copilotkit(run());
    await within("the upstream's end", core.seen[0]?.left ?? Promise.reject(new Error("no request")));
    expect(written).toBeLessThan(30e6);
  });
});

describe("connect", () => {
  const before = [
    { type: "RUN_STARTED", threadId: "t1", runId: "r1" },
    { type: "MESSAGES_SNAPSHOT", messages: [{ id: "u1", role: "user", content: "hi" }] },
  ];
  const busy = [...before, ...script(["Hello", " world"]).slice(2)];

  function answerConnect(body: string, { cut = false } = {}): void {
    core.answers.push({
      path: /^\/copilotkit\/connect$/,
      answer: (response) => {
        response.writeHead(200, STREAM_HEADERS);
        if (cut) response.write(body, () => response.socket?.destroy());
        else response.end(body);
      },
    });
  }

  const snapshot = (list: readonly Event[]) => list.map((event) => frame(event, null)).join("");

  it("tells what the page offers: by that, middle-core knows how to show it what is open", async () => {
    answerConnect(snapshot([...before, { type: "RUN_FINISHED", threadId: "t1", runId: "r1" }]));
    const tools = [{ name: "approve_action", description: "Shows a card.", parameters: { type: "object" } }];
    await all(await proxy.copilotkit(connect({ tools })));
    expect(JSON.parse(core.seen[0]?.body ?? "{}")).toMatchObject({ tools });
  });

  it("asks with a whole input, the browser's run id and its token", async () => {
    answerConnect(snapshot([...before, { type: "RUN_FINISHED", threadId: "t1", runId: "r1" }]));
    expect(await all(await proxy.copilotkit(connect()))).toMatchObject([...before, { type: "RUN_FINISHED" }]);
    expect(core.seen[0]?.headers.authorization).toBe(TOKEN);
    expect(JSON.parse(core.seen[0]?.body ?? "")).toEqual(input({ messages: [] }));
  });

  it("names another agent in the path", async () => {
    core.answers.push({ path: /^\/copilotkit\/support\/connect$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).end(snapshot([...before, { type: "RUN_FINISHED", threadId: "t1", runId: "r1" }])); } });
    expect(await all(await proxy.copilotkit(post("/api/copilotkit/agent/support/connect", input())))).toHaveLength(3);
  });

  it("follows a running run across a cut", async () => {
    answerConnect(snapshot(before) + frames(core.log.slice(2, 4), 2), { cut: true });
    expect(await all(await proxy.copilotkit(connect()))).toEqual(busy);
    expect(core.seen.at(-1)?.headers["last-event-id"]).toBe(`${RUN}:4`);
  });

  it("shows the snapshot once when it broke before the first id", async () => {
    answerConnect(snapshot(before), { cut: true });
    answerConnect(snapshot(before) + frames(core.log.slice(2), 2));
    expect(await all(await proxy.copilotkit(connect()))).toEqual(busy);
  });

  it("shows a newer snapshot when the run ended in between", async () => {
    const newer = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "u1", role: "user", content: "hi" }, { id: "m1", role: "assistant", content: "Hello world" }] };
    const end = { type: "RUN_FINISHED", threadId: "t1", runId: "r1" };
    answerConnect(snapshot(before), { cut: true });
    answerConnect(snapshot([before[0] ?? {}, newer, end]));
    expect(await all(await proxy.copilotkit(connect()))).toEqual([...before, newer, end]);
  });
});

describe("stop", () => {
  it("carries the caller's token byte for byte, the thread and the run", async () => {
    const response = await proxy.copilotkit(stop("t1", { runId: "r1" }));
    expect(await response.json()).toMatchObject({ stopped: true });
    expect(core.seen).toHaveLength(1);
    expect(core.seen[0]).toMatchObject({ method: "POST", path: "/copilotkit/stop" });
    expect(core.seen[0]?.headers.authorization).toBe(TOKEN);
    expect(JSON.parse(core.seen[0]?.body ?? "")).toEqual({ threadId: "t1", runId: "r1" });
  });

  it("needs no body", async () => {
    await proxy.copilotkit(stop());
    expect(JSON.parse(core.seen[0]?.body ?? "")).toEqual({ threadId: "t1" });
  });

  it("says that nothing was running", async () => {
    core.answers.push({ path: /stop$/, answer: (response) => { json(response, 200, { stopped: false }); } });
    expect(await (await proxy.copilotkit(stop())).json()).toMatchObject({ stopped: false });
  });

  it("is refused with the real status", async () => {
    core.answers.push({ path: /stop$/, answer: (response) => { problem(response, 401, "unauthorized"); } });
    const response = await proxy.copilotkit(stop());
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: "unauthorized" });
  });

  it("goes out again when the connection dies under it, and says so when middle-core is away", async () => {
    core.answers.push({ path: /stop$/, answer: (response) => { response.socket?.destroy(); } });
    expect(await (await proxy.copilotkit(stop())).json()).toMatchObject({ stopped: true });
    const { port } = core;
    await core.stop();
    const response = await proxy.copilotkit(stop());
    core = await FakeMiddleCore.start(port);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "draining" });
  });

  it("ends the stream by the log alone, fifty times, without an unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note).on("uncaughtException", note);
    try {
      for (let round = 0; round < 50; round += 1) {
        let finish: () => void = () => undefined;
        core.answers.push({
          path: /^\/copilotkit$/,
          answer: (response) => {
            response.writeHead(200, STREAM_HEADERS).write(frames(core.log.slice(0, 4)));
            finish = () => response.end(frames([{ type: "TEXT_MESSAGE_END", messageId: "m1" }, { type: "RUN_FINISHED", threadId: "t1", runId: "r1" }], 4));
          },
        });
        const browser = new AbortController();
        const list = events(await proxy.copilotkit(run({}, { signal: browser.signal })));
        await list.next();
        await proxy.copilotkit(stop());
        if (round % 2 === 0) {
          finish();
          const shown: Event[] = [];
          for await (const event of list) shown.push(event);
          expect(shown.filter((event) => ["RUN_FINISHED", "RUN_ERROR"].includes(String(event.type)))).toHaveLength(1);
        } else {
          browser.abort(); // The tab is closed in the middle of its stop.
        }
      }
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", note).off("uncaughtException", note);
    }
    expect(unhandled).toEqual([]);
    expect(core.to(/stop$/)).toHaveLength(50);
  });
});

describe("two people at once", () => {
  it("never share a token, a thread or a word", async () => {
    const people = Array.from({ length: 20 }, (_, index) => ({ token: `Bearer token-of-${index}`, threadId: `thread-${index}` }));
    for (const { threadId } of people) {
      core.answers.push({
        path: /^\/copilotkit$/,
        answer: (response, seen) => {
          const asked = JSON.parse(seen.body) as { threadId: string };
          const own = script([seen.headers.authorization ?? "", asked.threadId], { threadId: asked.threadId });
          response.writeHead(200, STREAM_HEADERS);
          // Half of it, then a cut, so that every one of them also attaches again.
          response.write(frames(own.slice(0, 4)), () => response.socket?.destroy());
        },
      });
      core.answers.push({
        path: /events$/,
        answer: (response, seen) => {
          response.writeHead(200, STREAM_HEADERS);
          response.end(frames([{ type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: `+${seen.headers.authorization}` }, ...script([], { threadId }).slice(3)], 4));
        },
      });
    }
    await Promise.all(
      people.map(async ({ token, threadId }) => {
        const [streamed, stopped] = await Promise.all([
          proxy.copilotkit(run({ threadId }, { token })).then(all),
          proxy.copilotkit(stop(threadId, "", { token })).then((response) => response.json() as Promise<unknown>),
        ]);
        expect(textOf(streamed)).toBe(`${token}+${token}`);
        expect(streamed[0]).toMatchObject({ threadId });
        expect(stopped).toMatchObject({ stopped: true });
      }),
    );
    for (const seen of core.to(/stop$/)) {
      const { threadId } = JSON.parse(seen.body) as { threadId: string };
      expect(seen.headers.authorization).toBe(people.find((one) => one.threadId === threadId)?.token);
    }
  });
});

describe("info", () => {
  it("names middle-core's agents, and the default one as default", async () => {
    core.answers.push({ path: /info$/, answer: (response) => { json(response, 200, { agents: [{ name: "knowledge_copilot", description: "Answers.", default: true }, { name: "support", description: "" }] }); } });
    const response = await proxy.copilotkit(get("/api/copilotkit/info"));
    const { agents } = (await response.json()) as { agents: Record<string, { description: string }> };
    expect(Object.keys(agents).sort()).toEqual(["default", "knowledge_copilot", "support"]);
    expect(agents.default?.description).toBe("Answers.");
    expect(core.seen[0]?.headers.authorization).toBe(TOKEN);
  });

  it("lets the page come up signed out", async () => {
    core.answers.push({ path: /info$/, answer: (response) => { problem(response, 401, "unauthorized"); } });
    const response = await proxy.copilotkit(get("/api/copilotkit/info"));
    expect(Object.keys(((await response.json()) as { agents: object }).agents)).toEqual(["default"]);
  });
});
