import { CopilotKitContext, CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { NO_PANEL_GRAPH } from "../graph/runGraph";
import type { Row } from "../session/rows";
import type { SessionView } from "../session/viewModel";
import { MessageList } from "./MessageList";

// jsdom lays nothing out, so there is no size to watch.
class NoSizes implements ResizeObserver {
  readonly observe = vi.fn();
  readonly unobserve = vi.fn();
  readonly disconnect = vi.fn();
}

beforeAll(() => {
  vi.stubGlobal("ResizeObserver", NoSizes);
});
afterEach(cleanup);

const IDLE: SessionView = { phase: "idle", rows: [], failure: undefined, progress: new Map(), state: {}, graph: NO_PANEL_GRAPH, asking: false, stoppedEmpty: false };
const USER: Row = { kind: "user", id: "u", text: "Hello", waiting: false };
const ANSWER: Extract<Row, { kind: "assistant" }> = {
  kind: "assistant",
  id: "a",
  text: "Hello you",
  tools: [],
  streaming: false,
  stopped: false,
  interrupted: false,
  cutOff: undefined,
};
const copilotkit = new CopilotKitCoreReact({ runtimeUrl: "/", deferInitialConnection: true });

function show(view: Partial<SessionView>, more: { readonly signedIn?: boolean; readonly onGoOn?: () => void } = {}): void {
  render(
    <CopilotKitContext value={{ copilotkit, executingToolCallIds: new Set() }}>
      <MessageList view={{ ...IDLE, ...view }} welcome={<p>Welcome</p>} signedIn={more.signedIn ?? true} onRetry={vi.fn()} onDismiss={vi.fn()} onGoOn={more.onGoOn ?? vi.fn()} />
    </CopilotKitContext>,
  );
}

describe("MessageList", () => {
  it("welcomes to an empty conversation, and to nothing else", () => {
    show({});
    expect(screen.getByText("Welcome")).toBeTruthy();
    cleanup();
    show({ failure: { code: "offline" } });
    expect(screen.queryByText("Welcome"), "one that could not be loaded is not empty").toBeNull();
    cleanup();
    show({ phase: "loading" });
    expect(screen.getByRole("status", { name: "Loading the conversation" })).toBeTruthy();
  });

  it.each([
    [{ phase: "reconnecting", rows: [USER] }, "Reconnecting…"],
    [{ phase: "running", rows: [USER] }, "Thinking…"],
    [{ phase: "running", rows: [USER], progress: new Map([["", { label: "Planning", fraction: undefined, toolCallId: "", past: [] }]]) }, "Planning"],
  ] as const)("says what goes on where nothing else shows it", (view, words) => {
    show(view);
    expect(screen.getByTestId("activity").textContent).toBe(words);
  });

  it("says nothing of what goes on while an answer is written, or when nothing goes on", () => {
    show({ phase: "running", rows: [USER, { ...ANSWER, streaming: true }] });
    expect(screen.queryByTestId("activity")).toBeNull();
    cleanup();
    show({ rows: [USER, ANSWER] });
    expect(screen.queryByTestId("activity")).toBeNull();
  });

  it("tells how an answer ended, and offers the rest of one that was cut off", () => {
    const onGoOn = vi.fn();
    show({ rows: [USER, { ...ANSWER, cutOff: "length" }] }, { onGoOn });
    screen.getByRole("button", { name: /continue|go on/i }).click();
    expect(onGoOn).toHaveBeenCalledOnce();
    cleanup();
    show({ rows: [USER, { ...ANSWER, stopped: true, interrupted: true }] });
    expect(screen.getByTestId("stopped-mark").textContent).toBe("Interrupted");
    cleanup();
    show({ rows: [USER], stoppedEmpty: true });
    expect(screen.getByTestId("stopped-mark").textContent).toBe("Stopped before the answer began");
  });

  it("leaves an expired session to its own panel", () => {
    show({ rows: [USER], failure: { code: "unauthorized" } }, { signedIn: false });
    expect(screen.queryByRole("alert")).toBeNull();
    cleanup();
    show({ rows: [USER], failure: { code: "forbidden" } }, { signedIn: false });
    expect(screen.getByRole("alert").dataset.code).toBe("forbidden");
  });
});
