import { describe, expect, it } from "vitest";
import { excerptOf, markWords, plain } from "./highlight";

const hits = (text: string, query: string): readonly string[] => markWords(text, query).filter(({ hit }) => hit).map(({ text: word }) => word);

describe("markWords", () => {
  it("marks the words of the query with any ending, and loses nothing", () => {
    const text = "Stopping stops the stream; unstoppable streams stay.";
    expect(hits(text, "How do streams stop?")).toEqual(["Stopping", "stops", "stream", "streams"]);
    expect(markWords(text, "stop").map((piece) => piece.text).join("")).toBe(text);
  });

  it("takes words of every script, and no pattern", () => {
    expect(hits("Das Ändern der Straße (a.*)", "straße .* (")).toEqual(["Straße"]);
    expect(hits("anything", "")).toEqual([]);
    expect(hits("the and what", "the and what")).toEqual([]);
  });
});

describe("excerptOf", () => {
  it("begins a little before the first match", () => {
    const text = `${"filler words come first. ".repeat(20)}Here the lease ends. ${"More follows. ".repeat(20)}`;
    const excerpt = excerptOf(text, "lease", 120);
    expect(excerpt).toMatch(/^…/);
    expect(excerpt).toMatch(/…$/);
    expect(excerpt).toContain("lease");
    expect(excerpt.length).toBeLessThan(140);
  });

  it("keeps a short passage whole, without Markdown's marks", () => {
    expect(excerptOf("**Verify** the `token` once.\n\n- [docs](https://x)", "token")).toBe("Verify the token once. docs");
    expect(plain("# Head\n\n```py\nx = 1\n```\n| a | b |\n|---|---|\n> quoted")).toBe("Head x = 1 a b quoted");
  });
});
