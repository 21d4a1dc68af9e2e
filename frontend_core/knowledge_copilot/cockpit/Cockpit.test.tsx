import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { Cockpit } from "./Cockpit";

afterEach(cleanup);

const base = { state: "done", args: {}, progress: undefined } as const;
const json = (value: unknown): string => JSON.stringify(value);

describe("Cockpit", () => {
  it("draws the days and tells them in words and as a table", () => {
    const days = [
      { day: "2026-11-29", queries: 2, ingested: 0 },
      { day: "2026-11-30", queries: 0, ingested: 1 },
    ];
    render(<Cockpit {...base} result={json({ sources: 1234, last_days: days })} />);
    expect(screen.getByText("1,234")).toBeTruthy();
    const plot = screen.getByRole("img", { name: /In 2 days: 2 questions/ });
    expect(plot.querySelectorAll("rect, circle")).toHaveLength(2);
    expect(screen.getByRole("row", { name: "30 Nov 0 1", hidden: true })).toBeTruthy();
  });

  it("says that nothing happened, instead of an empty plot", () => {
    render(<Cockpit {...base} result={json({ sources: 0, last_days: [{ day: "2026-11-30", queries: 0, ingested: 0 }] })} />);
    expect(screen.queryByTestId("day-plot")).toBeNull();
    expect(screen.getByText(/Nothing was asked/)).toBeTruthy();
  });
});
