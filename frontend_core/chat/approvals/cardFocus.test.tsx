import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useFocusKept } from "./cardFocus";

beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (value: string) => value });
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function Page({ at }: { readonly at: "below" | "above" | "gone" }) {
  useFocusKept(at);
  return (
    <>
      {at === "above" && <div key="above" tabIndex={-1} data-interrupt="i:1" data-testid="above" />}
      {at === "below" && (
        <div key="below" tabIndex={-1} data-interrupt="i:1">
          <button type="button">Yes</button>
        </div>
      )}
      <textarea id="composer" />
      <button type="button">Else</button>
    </>
  );
}

const focus = (name: string): void => {
  screen.getByRole("button", { name }).focus();
};

it("follows a card that is drawn anew elsewhere", () => {
  const { rerender } = render(<Page at="below" />);
  focus("Yes");
  rerender(<Page at="above" />);
  expect(document.activeElement).toBe(screen.getByTestId("above"));
});

it("goes to the message box where the card is gone", () => {
  const { rerender } = render(<Page at="below" />);
  focus("Yes");
  rerender(<Page at="gone" />);
  expect(document.activeElement?.id).toBe("composer");
});

it("is left alone where the person went on", () => {
  const { rerender } = render(<Page at="below" />);
  focus("Yes");
  focus("Else");
  rerender(<Page at="above" />);
  expect(document.activeElement?.textContent).toBe("Else");
  rerender(<Page at="below" />);
  focus("Yes");
  fireEvent.pointerDown(document.body);
  rerender(<Page at="gone" />);
  expect(document.activeElement).toBe(document.body);
});
