import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { SourcesTable } from "./SourcesTable";

afterEach(cleanup);

const base = { state: "done", args: {}, progress: undefined } as const;
const json = (value: unknown): string => JSON.stringify(value);

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
