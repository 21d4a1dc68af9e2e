import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { RegistryProvider, type ChatRegistry } from "../registry";
import { ToolCard } from "./ToolCard";

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

const show = (name: string, result?: unknown) =>
  render(
    <RegistryProvider registry={REGISTRY}>
      <ToolCard name={name} toolCallId="c1" parameters={{ city: "Bern" }} result={result} />
    </RegistryProvider>,
  );

describe("ToolCard", () => {
  it("shows the registered words and the registered card", () => {
    show("weather", "sunny");
    expect(screen.getByRole("region", { name: "Asked for the weather" })).toBeTruthy();
    expect(screen.getByTestId("weather").textContent).toBe("done Bern sunny");
  });

  it("shows a line for a tool that is not registered, whatever its name is", () => {
    show("constructor", "ok");
    expect(screen.getByRole("region", { name: "Used constructor" })).toBeTruthy();
    expect(screen.queryByTestId("weather")).toBeNull();
  });

  it("shows why a call failed in place of its card", () => {
    show("weather", '{"error":"There is no such city."}');
    expect(screen.getByText("There is no such city.")).toBeTruthy();
    expect(screen.queryByTestId("weather")).toBeNull();
  });
});
