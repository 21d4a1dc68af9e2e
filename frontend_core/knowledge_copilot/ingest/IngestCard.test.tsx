import { cleanup, render, screen, within } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { IngestCard } from "./IngestCard";

afterEach(cleanup);

const json = (value: unknown): string => JSON.stringify(value);

describe("IngestCard", () => {
  it("shows the steps while it runs, then what it became, or that nobody watches any more", () => {
    const args = { text: "Otters **sleep**." };
    const progress = { label: "Indexing", fraction: 0.7, toolCallId: "c", past: ["Waiting", "Reading"] };
    const { rerender } = render(<IngestCard state="running" args={args} result={undefined} progress={progress} />);
    expect(within(screen.getByRole("list", { name: "Steps" })).getAllByRole("listitem").map((item) => item.textContent)).toEqual(["Waiting", "Reading", "Indexing"]);
    expect(screen.getByRole("progressbar").getAttribute("value")).toBe("0.7");
    expect(screen.getByText("Otters sleep.")).toBeTruthy();
    rerender(<IngestCard state="running" args={args} result={undefined} progress={undefined} />);
    expect(screen.getByTestId("ingest-step").textContent).toBe("Sending it to the knowledge service");
    rerender(<IngestCard state="done" args={args} result={json({ status: "done", name: "Otters", passages: 1 })} progress={undefined} />);
    expect(screen.getByText("1 passage, ready to be searched")).toBeTruthy();
    rerender(<IngestCard state="unknown" args={args} result={undefined} progress={undefined} />);
    expect(screen.getByText(/No longer watched/)).toBeTruthy();
  });
});
