import { describe, expect, it } from "vitest";
import type { Row } from "../chat/session/rows";
import { suggestionsFor } from "./suggestions";

const user = (text: string): Row => ({ kind: "user", id: `u-${text}`, text, waiting: false });
const answer = (tool?: string, result?: unknown, more: object = {}): Row => ({
  kind: "assistant",
  id: "a",
  text: "Here it is.",
  streaming: false,
  stopped: false,
  interrupted: false,
  cutOff: undefined,
  tools:
    tool === undefined
      ? []
      : [
          {
            call: { id: "c", type: "function", function: { name: tool, arguments: "{}" } },
            result: { id: "r", role: "tool", toolCallId: "c", content: typeof result === "string" ? result : JSON.stringify(result) },
            outcome: { outcome: "done", code: null, message: "" },
          },
        ],
  ...more,
});

describe("suggestionsFor", () => {
  it("follows from the tool that was used", () => {
    const found = { query: "press stop", passages: [{ title: "Stop › Now", text: "t" }] };
    expect(suggestionsFor([user("q"), answer("search_knowledge", found)])).toEqual(["Tell me more", "Search only in Stop", "Which sources mention press stop?"]);
    expect(suggestionsFor([user("q"), answer("search_knowledge", { ...found, limited_to: ["x"] })])).toContain("Search everywhere");
    expect(suggestionsFor([user("q"), answer("ingest_source", { status: "done", name: "Otters" })])[0]).toBe("What does “Otters” say?");
    const sources = ["How streams end", "How streams begin", "Tokens"].map((name) => ({ name }));
    expect(suggestionsFor([user("q"), answer("list_sources", { sources })])[0]).toBe("Filter the table to streams");
  });

  it("offers what always helps, and never what was just asked", () => {
    expect(suggestionsFor([user("hello"), answer()])).toEqual(["Which documents are there?", "Show the cockpit"]);
    expect(suggestionsFor([user(" show the Cockpit"), answer("cockpit_metrics", {})])).toEqual(["Which documents are there?"]);
    expect(suggestionsFor([user("q"), answer("search_knowledge", "The tool search_knowledge could not do this.")])).toHaveLength(2);
  });

  it("waits for a whole answer", () => {
    expect(suggestionsFor([])).toEqual([]);
    expect(suggestionsFor([user("q")])).toEqual([]);
    for (const more of [{ streaming: true }, { stopped: true }, { text: "" }]) expect(suggestionsFor([user("q"), answer(undefined, undefined, more)])).toEqual([]);
  });
});
