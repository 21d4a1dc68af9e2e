import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ERROR_CODES } from "../../contract";
import { failureOfRunError } from "../errors/failure";
import { ErrorCard } from "./ErrorCard";

afterEach(cleanup);

it.each(ERROR_CODES)("shows words for %s, and never its code", (code) => {
  render(<ErrorCard failure={failureOfRunError({ code })} onRetry={vi.fn()} onDismiss={vi.fn()} />);
  const card = screen.getByTestId("error-card");
  expect(card.dataset.code).toBe(code);
  expect(card.textContent).not.toMatch(/[a-z]_[a-z]|undefined/);
});

it("offers to try again only where that can help", () => {
  const retry = vi.fn();
  const { rerender } = render(<ErrorCard failure={{ code: "model_unavailable" }} onRetry={retry} onDismiss={vi.fn()} />);
  screen.getByRole("button", { name: "Retry" }).click();
  expect(retry).toHaveBeenCalledOnce();
  rerender(<ErrorCard failure={{ code: "forbidden" }} onRetry={retry} onDismiss={vi.fn()} />);
  expect(screen.queryByRole("button", { name: "Retry" })).toBeNull();
});

it("takes a code of a newer server for what it can tell of it", () => {
  render(<ErrorCard failure={failureOfRunError({ code: "of_tomorrow", message: "Words of tomorrow." })} onRetry={vi.fn()} onDismiss={vi.fn()} />);
  expect(screen.getByTestId("error-card").dataset.code).toBe("internal");
});
