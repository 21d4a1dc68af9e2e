import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { Proxy } from "./proxy";
import { all, run, textOf } from "./testing/browser";
import { FakeMiddleCore, script } from "./testing/fake";

let core: FakeMiddleCore;
let proxy: Proxy;

beforeEach(async () => {
  core = await FakeMiddleCore.start();
  proxy = new Proxy(core.config());
});

afterEach(async () => {
  await proxy.close();
  await core.stop();
});

describe("run", () => {
  it("passes a run's events on, each once and in order", async () => {
    core.log = script(["Hello", " ", "world"]);
    const response = await proxy.copilotkit(run());
    expect(await all(response)).toEqual(core.log);
    expect(textOf(core.log)).toBe("Hello world");
  });
});
