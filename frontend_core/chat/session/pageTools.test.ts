// @vitest-environment node
import { CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { PageOutcomes } from "../tools/pageOutcomes";
import { CannotDo, telling } from "../tools/usePageTool";
import { upload } from "./messageFilter";
import { begin, close, FakeRuntime, finished, say, started, until } from "./testing/fakeRuntime";
import { ThreadSession } from "./threadSession";

let runtime: FakeRuntime;
let session: ThreadSession;

beforeEach(async () => {
  // The client reports a handler that throws to the console.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  runtime = await FakeRuntime.start();
});

afterEach(async () => {
  session.dispose();
  await runtime.close();
  vi.restoreAllMocks();
});

type Handler = (args: Record<string, unknown>) => Promise<unknown>;

/** A page whose tool is called with `args` by the first run; the second run answers. */
async function called(args: string, make: (outcomes: PageOutcomes) => Handler): Promise<void> {
  const outcomes = new PageOutcomes();
  const core = new CopilotKitCoreReact({
    runtimeUrl: runtime.url,
    runtimeTransport: "rest",
    deferInitialConnection: true,
    messageFilter: upload,
  });
  outcomes.follow(core);
  session = new ThreadSession({
    core,
    threadId: "t",
    runtimeAgentId: "default",
    known: false,
    postStop: () => Promise.resolve(false),
    beforeRequest: () => undefined,
    onFailure: () => undefined,
    onRunChange: () => undefined,
    withOutcomes: outcomes.told,
    newId: () => crypto.randomUUID(),
    nextFrame: (callback) => setImmediate(callback),
  });
  core.addTool({ name: "paint", parameters: z.object({}), agentId: session.agentId, handler: make(outcomes) });
  const call = [
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "paint", parentMessageId: "a1" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: args },
    { type: "TOOL_CALL_END", toolCallId: "c" },
  ];
  runtime.run = [
    (stage) => {
      stage.send(started, ...call, finished).end();
    },
    (stage) => {
      stage.send(started, begin("a2"), say("a2", "So."), close("a2"), finished).end();
    },
  ];
  session.start();
  session.send("Paint");
  await until(() => session.view.get().phase === "idle" && session.view.get().rows.length > 1, "the page to be idle");
}

const shown = (): unknown => session.view.get().rows.flatMap((row) => (row.kind === "assistant" ? row.tools.map(({ outcome }) => outcome) : []));
const sent = (): unknown => runtime.to("run").at(-1)?.body.messages?.find(({ role }) => role === "tool");

it("says of a handler that threw that it failed, and tells the server so with the next message", async () => {
  await called('{"colour":"red"}', () => () => Promise.reject(new Error("There is no wall.")));
  const outcome = { outcome: "failed", code: "tool_error", message: "There is no wall." };
  expect(shown()).toEqual([outcome]);
  session.send("And now?");
  await until(() => runtime.to("run").length === 2, "the next message");
  expect(sent()).toMatchObject({ content: "Error: There is no wall.", metadata: { middleCoreOutcome: outcome } });
});

it("says of a handler that never ran that nothing was run", async () => {
  const handler = vi.fn<Handler>();
  await called('{"colour":', () => handler);
  expect(handler).not.toHaveBeenCalled();
  expect(shown()).toMatchObject([{ outcome: "not_run", code: "invalid_arguments" }]);
});

it("goes on with the reason after a tool that says that it cannot", async () => {
  await called("{}", (outcomes) => {
    const handler = telling<Record<string, unknown>>(() => Promise.reject(new CannotDo("There is no wall.")), outcomes);
    return (args) => handler(args, { toolCall: { id: "c" } } as Parameters<typeof handler>[1]);
  });
  const outcome = { outcome: "failed", code: "tool_error", message: "There is no wall." };
  expect(runtime.to("run")).toHaveLength(2);
  expect(sent()).toMatchObject({ content: "There is no wall.", metadata: { middleCoreOutcome: outcome } });
  expect(shown()).toEqual([outcome]);
});

it("takes what a handler returns for done, whatever it says", async () => {
  await called("{}", () => () => Promise.resolve("Error: that is the title of the picture"));
  expect(shown()).toEqual([{ outcome: "done", code: null, message: "" }]);
  expect(sent()).not.toHaveProperty("metadata");
});
