import { describe, expect, it } from "vitest";
import { splitBlocks } from "./blocks";

describe("splitBlocks", () => {
  it("cuts at empty lines", () => {
    expect(splitBlocks("One\ntwo\n\n\nThree\n")).toEqual(["One\ntwo", "Three"]);
    expect(splitBlocks("")).toEqual([]);
  });

  it("keeps a code fence whole, also one that is still open", () => {
    expect(splitBlocks("```js\na\n\nb\n```\n\nafter")).toEqual(["```js\na\n\nb\n```", "after"]);
    expect(splitBlocks("~~~\na\n\n```\nb")).toEqual(["~~~\na\n\n```\nb"]);
    expect(splitBlocks("````\n```\n\nx\n````\n\ny")).toEqual(["````\n```\n\nx\n````", "y"]);
  });

  it("keeps a list with empty lines between its items, and what is indented below one", () => {
    expect(splitBlocks("1. a\n\n2. b\n\n   more\n\nText")).toEqual(["1. a\n\n2. b\n\n   more", "Text"]);
  });

  it("does not take a paragraph before a list into it", () => {
    expect(splitBlocks("Text\n\n- a\n- b")).toEqual(["Text", "- a\n- b"]);
  });

  it("loses no words, wherever a growing text is looked at", () => {
    const text = "# T\n\nSome *words*\n\n- a\n\n- b\n\n```\ncode\n\nmore\n```\n\n> quote\n\nend";
    for (let length = 0; length <= text.length; length++) {
      const part = text.slice(0, length);
      expect(splitBlocks(part).join("").replaceAll(/\s/g, "")).toBe(part.replaceAll(/\s/g, ""));
    }
  });
});
