import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { CitationCards } from "./CitationCards";

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
