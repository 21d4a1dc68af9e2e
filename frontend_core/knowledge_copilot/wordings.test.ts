import { describe, expect, it } from "vitest";
import { describeTool } from "../chat/tools/describeTool";
import { DONE } from "../chat/tools/outcome";
import { WORDINGS } from "./wordings";

const say = (name: keyof typeof WORDINGS, args: Readonly<Record<string, unknown>>, result?: unknown) =>
  describeTool({ name, args, result: JSON.stringify(result), outcome: result === undefined ? undefined : DONE }, WORDINGS[name]);

describe("the copilot's wordings", () => {
  it("say what is being done", () => {
    expect(say("search_knowledge", { query: "stop" }).title).toBe("Searching the knowledge base for “stop”");
    expect(say("ingest_source", { title: "Otters" }).title).toBe("Adding a source “Otters”");
    expect(say("delete_source", { name: "Otters" }).title).toBe("Deleting a source “Otters”");
    expect(say("list_sources", {}).title).toBe("Looking up the sources");
    expect(say("get_stats", {}).title).toBe("Reading the statistics");
    expect(say("cockpit_metrics", {}).title).toBe("Reading the cockpit");
    expect(say("select_sources", {}).title).toBe("Changing the selection of sources");
    expect(say("filter_sources", { text: "x" }).title).toBe("Filtering the table of sources for “x”");
  });

  it("say what came of it", () => {
    const passages = (count: number) => ({ query: "stop", passages: Array.from({ length: count }, () => ({ text: "x" })) });
    expect(say("search_knowledge", { query: "stop" }, passages(5))).toEqual({ state: "done", title: "Searched the knowledge base for “stop”", outcome: "5 passages", reason: "" });
    expect(say("search_knowledge", {}, passages(1)).outcome).toBe("1 passage");
    expect(say("search_knowledge", {}, passages(0)).outcome).toBe("nothing found");
    expect(say("search_knowledge", {}, {}).outcome).toBe("");
    expect(say("list_sources", {}, { total: 21, sources: [] })).toMatchObject({ title: "Looked up the sources", outcome: "21 sources" });
    expect(say("list_sources", {}, { sources: [{}] }).outcome).toBe("1 source");
    expect(say("filter_sources", { text: "x" }, { shown: 2, total: 9 })).toMatchObject({ title: "Filtered the table of sources for “x”", outcome: "2 of 9" });
    expect(say("filter_sources", { text: "" }, {})).toMatchObject({ title: "Cleared the filter of the table of sources", outcome: "" });
    expect(say("select_sources", {}, { selected: [] })).toMatchObject({ title: "Changed the selection of sources", outcome: "all sources" });
    expect(say("ingest_source", { title: "Otters" }, { status: "running" })).toMatchObject({ title: "Added a source “Otters”", outcome: "still being added" });
    expect(say("ingest_source", {}, { status: "done" })).toMatchObject({ title: "Added a source", outcome: "" });
    expect(say("delete_source", { name: "Otters" }, {}).title).toBe("Deleted a source “Otters”");
    expect(say("get_stats", {}, {}).title).toBe("Read the statistics");
    expect(say("cockpit_metrics", {}, {}).title).toBe("Read the cockpit");
  });

  it("shorten a long query and leave out what is no text", () => {
    expect(say("search_knowledge", { query: "x".repeat(500) }).title.length).toBeLessThan(130);
    expect(say("search_knowledge", { query: 7 }).title).toBe("Searching the knowledge base");
  });
});
