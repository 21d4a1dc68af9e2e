/** Nothing is kept per run, thread or caller: the heap after hundreds of conversations is the heap before them. */

import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { expect, it } from "vitest";

import { Proxy } from "./proxy";
import { connect, run, stop } from "./testing/browser";
import { FakeMiddleCore, script } from "./testing/fake";

const ROUND = 100;
/** Bytes per thread. The events of one run alone are 3 kB; caches that settle make up the rest. */
const NOISE = 1_500;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function heap(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    await pause(5); // Weak references are let go, and finalizers run, between turns.
    collect();
  }
  return process.memoryUsage().heapUsed;
}

it("stays flat over hundreds of threads", async () => {
  const core = await FakeMiddleCore.start();
  core.log = script(Array.from({ length: 40 }, (_, index) => `word ${index} `));
  const proxy = new Proxy(core.config());
  let next = 0;
  const round = async () => {
    for (const end = next + ROUND; next < end; next += 1) {
      const ids = { threadId: `thread-${next}`, runId: `run-${next}` };
      core.cuts = next % 3 === 0 ? [700] : [];
      await (await proxy.copilotkit(run(ids, { token: `Bearer ${next}` }))).text();
      if (next % 5 === 0) await (await proxy.copilotkit(connect(ids))).text();
      if (next % 5 === 1) await (await proxy.copilotkit(stop(ids.threadId))).text();
      if (next % 5 === 2) await (await proxy.copilotkit(run(ids))).body?.cancel();
      core.seen.length = 0;
    }
  };
  try {
    await round();
    const grown: number[] = [];
    // What leaks grows in each round; what settles does not.
    for (let before = await heap(); grown.length < 6 && !grown.some((bytes) => bytes < NOISE); ) {
      await round();
      const after = await heap();
      grown.push((after - before) / ROUND);
      before = after;
    }
    expect(Math.min(...grown), `bytes per thread in each round: ${grown.join()}`).toBeLessThan(NOISE);
  } finally {
    await proxy.close();
    await core.stop();
  }
}, 60_000);
