/** The control of `telemetry.test.ts`: with the telemetry on, the same check sees it. A file, hence a process, of its own. */

import { it } from "vitest";

import { Proxy } from "./proxy";
import { all, run } from "./testing/browser";
import { FakeMiddleCore, script } from "./testing/fake";
import { noteSockets } from "./testing/sockets";
import { until } from "./testing/wait";

it("is noticed when a team turns it on", async () => {
  process.env.COPILOTKIT_TELEMETRY_DISABLED = "false";
  const core = await FakeMiddleCore.start();
  core.log = script(["Hello"]);
  const { called, restore } = noteSockets();
  const proxy = new Proxy(core.config());
  try {
    await all(await proxy.copilotkit(run()));
    await until("a call to somebody else", () => called.some((address) => !address.startsWith("127.0.0.1:")));
  } finally {
    restore();
    await proxy.close();
    await core.stop();
  }
});
