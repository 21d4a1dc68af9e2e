import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CUT_OFF_REASONS } from "../../contract";
import { CutOff } from "./CutOff";

afterEach(cleanup);

describe("CutOff", () => {
  it("has words for every reason", () => {
    for (const reason of CUT_OFF_REASONS) {
      render(<CutOff reason={reason} onGoOn={undefined} />);
      expect(screen.getByTestId("cut-off").textContent).not.toBe("");
      expect(screen.queryByRole("button")).toBeNull();
      cleanup();
    }
  });

  it("goes on when it is asked to", () => {
    const onGoOn = vi.fn();
    render(<CutOff reason="length" onGoOn={onGoOn} />);
    fireEvent.click(screen.getByRole("button", { name: "Go on" }));
    expect(onGoOn).toHaveBeenCalledOnce();
  });

  it("does not offer to go on where that would not help", () => {
    render(<CutOff reason="context" onGoOn={vi.fn()} />);
    expect(screen.queryByRole("button")).toBeNull();
  });
});
