/** The law of the proxy: wherever the road to middle-core breaks, the browser gets the log, each event once. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { follow } from "./followRun";
import { MiddleCore } from "./middleCoreClient";
import { Place } from "./replayCursor";
import { Proxy } from "./proxy";
import { all, run, textOf } from "./testing/browser";
import { FakeMiddleCore, frame, RUN, script, STREAM_HEADERS } from "./testing/fake";
import { seeded } from "./testing/random";

const WORDS = ["你好 🌍 ", "ha", "ha", "é\u2028\u0085."];
const LOG = script(WORDS);
const LENGTH = Buffer.byteLength(`: middle-core\n\n${LOG.map((event, index) => frame(event, index + 1)).join("")}`);

let core: FakeMiddleCore;
let proxy: Proxy;

beforeAll(async () => {
  core = await FakeMiddleCore.start();
  core.log = LOG;
  proxy = new Proxy(core.config({ awayMs: 5_000, startMs: 5_000 }));
});

afterAll(async () => {
  await proxy.close();
  await core.stop();
});

async function runWithCuts(...cuts: number[]): Promise<void> {
  core.cuts = cuts;
  const shown = await all(await proxy.copilotkit(run()));
  expect(shown, `cuts ${cuts.join()}`).toEqual(LOG);
  expect(textOf(shown)).toBe(WORDS.join(""));
}

/** The same without CopilotKit's runtime around it, which makes up most of the time. */
async function followWithCut(client: MiddleCore, cut: number): Promise<unknown[]> {
  core.cuts = [cut];
  const caller = { authorization: null, traceparent: null };
  const upstream = {
    start: (signal: AbortSignal) => client.send(caller, { method: "POST", path: "/copilotkit", json: "{}", signal }),
    attach: (id: string, last: string, signal: AbortSignal) =>
      client.send(caller, { method: "GET", path: `/copilotkit/runs/${id}/events`, headers: { "last-event-id": last }, signal }),
  };
  const shown: unknown[] = [];
  const { signal } = new AbortController();
  for await (const event of follow(upstream, new Place(), core.config(), signal, () => undefined)) shown.push(event);
  return shown;
}

describe("a cut road", () => {
  it("loses and repeats nothing at any byte", async () => {
    const client = new MiddleCore(core.config());
    for (let cut = 0; cut < LENGTH; cut += 1) expect(await followWithCut(client, cut), `cut at ${cut}`).toEqual(LOG);
    await client.close();
  }, 60_000);

  it("loses and repeats nothing through the whole proxy", async () => {
    for (let cut = 0; cut < LENGTH; cut += 17) await runWithCuts(cut);
  }, 60_000);

  it("loses and repeats nothing with several cuts in one run", async () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const random = seeded(seed);
      const cuts = Array.from({ length: 1 + Math.floor(random() * 6) }, () => Math.floor(random() * LENGTH * 0.6));
      await runWithCuts(...cuts);
    }
  }, 60_000);

  it("attaches at the cursor with the caller's token, and starts the run once", async () => {
    core.seen.length = 0;
    core.cuts = [LENGTH - 100];
    await all(await proxy.copilotkit(run()));
    const [start, attach] = core.seen;
    expect(core.seen).toHaveLength(2);
    expect(start).toMatchObject({ method: "POST", path: "/copilotkit" });
    expect(attach).toMatchObject({ method: "GET", path: `/copilotkit/runs/${RUN}/events` });
    expect(attach?.headers["last-event-id"]).toMatch(new RegExp(`^${RUN}:\\d+$`));
    expect(attach?.headers.authorization).toBe(start?.headers.authorization);
  });

  it("sends the same body again when it broke before the first id", async () => {
    core.seen.length = 0;
    core.cuts = [0, 20];
    expect(await all(await proxy.copilotkit(run()))).toEqual(LOG);
    expect(core.seen.map((seen) => [seen.method, seen.body])).toEqual(Array(3).fill(["POST", core.seen[0]?.body]));
    expect(core.seen[0]?.body).toContain('"runId":"r1"');
  });

  it("attaches when a stream ends politely without a terminal event", async () => {
    core.cuts = [];
    core.answers.push({
      path: /^\/copilotkit$/,
      answer: (response) => {
        response.writeHead(200, STREAM_HEADERS).end(LOG.slice(0, 4).map((event, index) => frame(event, index + 1)).join(""));
      },
    });
    expect(await all(await proxy.copilotkit(run()))).toEqual(LOG);
  });

  it("stays exact when the server sends again what was shown", async () => {
    core.answers.push(
      { path: /^\/copilotkit$/, answer: (response) => { response.writeHead(200, STREAM_HEADERS).end(LOG.slice(0, 5).map((event, index) => frame(event, index + 1)).join("")); } },
      { path: /events$/, answer: (response) => { core.stream(response, 0); } },
    );
    expect(await all(await proxy.copilotkit(run()))).toEqual(LOG);
  });
});
