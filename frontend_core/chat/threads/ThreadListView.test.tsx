import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ThreadListState } from "./threadList";
import { ThreadListView } from "./ThreadListView";

let opened: string[];
let deleted: string[];
let reloads: number;

beforeEach(() => {
  // Ages are told by the clock: a real one may be set back by a moment, or stand still for minutes on a busy machine.
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  [opened, deleted, reloads] = [[], [], 0];
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const NOW = 1_800_000_000_000;
const ITEMS = [
  { id: "t1", title: "First", updatedAt: NOW, running: true },
  { id: "t/2", title: "", updatedAt: NOW - 150_000, running: false },
];

function show(list: ThreadListState): void {
  render(
    <ThreadListView
      list={list}
      currentId="t1"
      onOpen={(id) => opened.push(id)}
      onDelete={(id) => deleted.push(id)}
      onReload={() => reloads++}
    />,
  );
}

describe("ThreadListView", () => {
  it("shows titles, ages and what is running, and marks the open one", () => {
    show({ status: "ready", items: ITEMS });
    expect(screen.getByText("answering…")).toBeTruthy();
    expect(screen.getByText("2 min ago")).toBeTruthy();
    expect(screen.getByRole("link", { current: "page" }).textContent).toContain("First");
    expect(screen.getByRole("link", { name: /Untitled/ }).getAttribute("href")).toBe("/?thread=t%2F2");
  });

  it("opens with a plain click and leaves the others to the browser", () => {
    show({ status: "ready", items: ITEMS });
    const link = screen.getByRole("link", { name: /Untitled/ });
    fireEvent.click(link);
    expect(opened).toEqual(["t/2"]);
    link.addEventListener("click", (event) => { event.preventDefault(); });
    fireEvent.click(link, { ctrlKey: true });
    expect(opened).toEqual(["t/2"]);
  });

  it("deletes only after a second thought", () => {
    show({ status: "ready", items: ITEMS });
    fireEvent.click(screen.getByRole("button", { name: "Delete First" }));
    fireEvent.click(screen.getByRole("button", { name: "Keep" }));
    expect(deleted).toEqual([]);
    fireEvent.click(screen.getByRole("button", { name: "Delete First" }));
    fireEvent.click(screen.getByRole("button", { name: "Delete" }));
    expect(deleted).toEqual(["t1"]);
  });

  it("has words for nothing, for loading, and for a list that did not come", () => {
    show({ status: "ready", items: [] });
    expect(screen.getByText(/Nothing here yet/)).toBeTruthy();
    cleanup();
    show({ status: "loading", items: [] });
    expect(screen.getByLabelText("Loading conversations")).toBeTruthy();
    cleanup();
    show({ status: "error", items: ITEMS });
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(reloads).toBe(1);
    expect(screen.getByText("First")).toBeTruthy();
  });
});
