import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { CitationCards } from "./citations/CitationCards";
import { Cockpit } from "./cockpit/Cockpit";
import { IngestCard } from "./ingest/IngestCard";
import { SourcesTable } from "./sources/SourcesTable";

afterEach(cleanup);

const base = { state: "done", args: {}, progress: undefined } as const;
const json = (value: unknown): string => JSON.stringify(value);

describe("CitationCards", () => {
  const passages = Array.from({ length: 5 }, (_, n) => ({ title: n < 2 ? "Streams › Part" : `Stop ${n}`, text: `A lease ends. ${"More of it. ".repeat(40)}`, score: 0.5 }));

  it("opens a passage in place, and gives the focus back when it closes", () => {
    render(<CitationCards {...base} result={json({ query: "lease", passages })} />);
    const [first] = screen.getAllByTestId("citation");
    if (first === undefined) throw new Error("there is no citation");
    const head = within(first).getByRole("button", { expanded: false });
    expect(first.querySelector("mark")?.textContent).toBe("lease");
    fireEvent.click(head);
    expect(head.getAttribute("aria-expanded")).toBe("true");
    const escape = fireEvent.keyDown(within(first).getByText(/A lease ends/), { key: "Escape" });
    expect(escape, "the key is used up: it does not stop the answer").toBe(false);
    expect(head.getAttribute("aria-expanded")).toBe("false");
    expect(document.activeElement).toBe(head);
  });

  it("shows the first ones, then all, or those of one source", () => {
    render(<CitationCards {...base} result={json({ query: "lease", passages })} />);
    expect(screen.getAllByTestId("citation")).toHaveLength(3);
    const [streams] = screen.getAllByTestId("source-chip");
    if (streams === undefined) throw new Error("there is no chip");
    fireEvent.click(streams);
    expect(screen.getAllByTestId("citation")).toHaveLength(2);
    fireEvent.click(streams);
    fireEvent.click(screen.getByTestId("more-citations"));
    expect(screen.getAllByTestId("citation")).toHaveLength(5);
  });

  it("says that it searches, and that nothing was found", () => {
    const { rerender } = render(<CitationCards {...base} state="running" result={undefined} />);
    expect(screen.getByRole("status", { name: "Searching" })).toBeTruthy();
    rerender(<CitationCards {...base} result={json({ query: "x", passages: [] })} />);
    expect(screen.getByText(/Nothing in the knowledge base/)).toBeTruthy();
    rerender(<CitationCards {...base} result={json({ query: "x", limited_to: ["a"], passages: [] })} />);
    expect(screen.getByText(/Nothing fits in the selected/)).toBeTruthy();
  });
});

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
    rerender(<IngestCard state="stopped" args={args} result={undefined} progress={undefined} />);
    expect(screen.getByText(/No longer watched/)).toBeTruthy();
  });
});

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

describe("SourcesTable", () => {
  const sources = ["Streams", "Stop"].map((name) => ({ id: name, name, kind: "document", passages: name.length, added: "2026-01-01" }));

  it("sorts, filters, and tells both to a screen reader", () => {
    render(<SourcesTable {...base} result={json({ total: 2, sources })} />);
    const names = (): readonly (string | null)[] => screen.getAllByTestId("source-row").map((row) => row.getAttribute("data-source"));
    expect(names()).toEqual(["Stop", "Streams"]);
    fireEvent.click(screen.getByRole("button", { name: "Passages" }));
    expect(names()).toEqual(["Streams", "Stop"]);
    expect(screen.getByRole("columnheader", { name: /Passages/ }).getAttribute("aria-sort")).toBe("descending");
    const filter = screen.getByRole("searchbox", { name: "Filter the sources" });
    fireEvent.change(filter, { target: { value: "stre" } });
    expect(names()).toEqual(["Streams"]);
    expect(screen.getByTestId("sources-count").textContent).toBe("1 of 2");
    fireEvent.change(filter, { target: { value: "otters" } });
    expect(screen.getByText("No source is called that.")).toBeTruthy();
    expect(fireEvent.keyDown(filter, { key: "Escape" })).toBe(false);
    expect(names()).toHaveLength(2);
  });

  it("says that there is nothing", () => {
    render(<SourcesTable {...base} result={json({ total: 0, sources: [] })} />);
    expect(screen.getByText(/holds nothing that you may see/)).toBeTruthy();
  });
});
