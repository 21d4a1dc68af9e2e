/** CopilotKit's runtime phones home at each run unless told not to. Nothing may leave but requests to middle-core. */

import { expect, it } from "vitest";

import { Proxy } from "./proxy";
import { all, connect, get, run, stop } from "./testing/browser";
import { FakeMiddleCore, script } from "./testing/fake";
import { noteSockets } from "./testing/sockets";

it("sends nothing to anybody but middle-core", async () => {
  const core = await FakeMiddleCore.start();
  core.log = script(["Hello"]);
  const { called, restore } = noteSockets();
  const proxy = new Proxy(core.config());
  try {
    await (await proxy.copilotkit(get("/api/copilotkit/info"))).text();
    await all(await proxy.copilotkit(run()));
    await all(await proxy.copilotkit(connect()));
    await (await proxy.copilotkit(stop())).text();
    await new Promise((resolve) => setImmediate(resolve));
    expect(new Set(called)).toEqual(new Set([`127.0.0.1:${core.port}`]));
  } finally {
    restore();
    await proxy.close();
    await core.stop();
  }
});
