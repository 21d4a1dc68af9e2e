import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { RegistryProvider, type ChatRegistry } from "../registry";
import type { CallOutcome } from "../../contract";
import { DONE } from "./outcome";
import { RunStateContext, ToolCard, ToolOutcomeContext } from "./ToolCard";

afterEach(cleanup);

const REGISTRY: ChatRegistry = {
  tools: {
    weather: {
      card: ({ state, args, result }) => <p data-testid="weather">{[state, String(args.city), result].join(" ")}</p>,
      wording: { doing: () => "Asking for the weather", did: () => "Asked for the weather" },
    },
  },
  Provider: ({ children }) => children,
  suggestionsFor: () => [],
  firstPrompts: [],
  people: [{ sub: "ann", name: "Ann", role: "reader", can: "" }],
  words: { welcome: "", placeholder: "", hint: "", offlineHint: "" },
};

interface Shown {
  readonly result?: unknown;
  readonly outcome?: CallOutcome;
  /** The run goes on. */
  readonly running?: boolean;
}

const show = (name: string, { result, outcome, running = false }: Shown) =>
  render(
    <RegistryProvider registry={REGISTRY}>
      <RunStateContext value={{ running, progress: new Map() }}>
        <ToolOutcomeContext value={outcome}>
          <ToolCard name={name} toolCallId="c1" parameters={{ city: "Bern" }} result={result} />
        </ToolOutcomeContext>
      </RunStateContext>
    </RegistryProvider>,
  );

describe("ToolCard", () => {
  it("shows the registered words and the registered card", () => {
    show("weather", { result: "sunny", outcome: DONE });
    expect(screen.getByRole("region", { name: "Asked for the weather" })).toBeTruthy();
    expect(screen.getByTestId("weather").textContent).toBe("done Bern sunny");
  });

  it("shows a line for a tool that is not registered, whatever its name is", () => {
    show("constructor", { result: "ok", outcome: DONE });
    expect(screen.getByRole("region", { name: "Used constructor" })).toBeTruthy();
    expect(screen.queryByTestId("weather")).toBeNull();
  });

  it.each(["failed", "refused", "not_run", "cancelled"] as const)("shows why a call that is %s is not done, in place of its card", (outcome) => {
    show("weather", { result: "sunny", outcome: { outcome, code: null, message: "There is no such city." } });
    expect(screen.getByRole("region", { name: "Asking for the weather" }).dataset.state).toBe(outcome);
    expect(screen.getByText("There is no such city.")).toBeTruthy();
    expect(screen.queryByTestId("weather")).toBeNull();
  });

  it("shows a result that begins as an error does as what the tool returned", () => {
    show("weather", { result: "Error: none, it is sunny", outcome: DONE });
    expect(screen.getByTestId("weather").textContent).toBe("done Bern Error: none, it is sunny");
  });

  it("says of a call without a result that it runs, and once its run is over that nobody knows", () => {
    show("weather", { running: true });
    expect(screen.getByTestId("tool-card").dataset.state).toBe("running");
    cleanup();
    show("weather", {});
    expect(screen.getByTestId("tool-card").dataset.state).toBe("unknown");
    expect(screen.getByText(/check before repeating it/)).toBeTruthy();
  });
});
