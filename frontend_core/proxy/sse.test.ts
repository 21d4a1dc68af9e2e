import { describe, expect, it } from "vitest";

import { type Frame, FrameTooLarge, SseParser } from "./sse";
import { seeded } from "./testing/random";

const bytes = (text: string) => new TextEncoder().encode(text);
const parse = (text: string, max = 1e6) => new SseParser(max).feed(bytes(text));

const TEXT = 'id: r:1\ndata: {"delta":"你🌍é"}\n\n: keep-alive\n\nid: r:2\r\ndata: a\u0085b\u2028c\r\n\r\ndata: one\rdata: two\r\rdata:no space\n\n';
const FRAMES: Frame[] = [
  { id: "r:1", data: '{"delta":"你🌍é"}' },
  { id: "r:2", data: "a\u0085b\u2028c" },
  { id: null, data: "one\ntwo" },
  { id: null, data: "no space" },
];

describe("SseParser", () => {
  it("reads ids, data of several lines and all three line ends", () => {
    expect(parse(TEXT)).toEqual(FRAMES);
  });

  it("reads the same frames byte by byte", () => {
    const parser = new SseParser(1e6);
    expect([...bytes(TEXT)].flatMap((byte) => parser.feed(Uint8Array.of(byte)))).toEqual(FRAMES);
  });

  it("reads the same frames however the bytes are cut", () => {
    const all = bytes(TEXT);
    for (let seed = 0; seed < 300; seed += 1) {
      const random = seeded(seed);
      const parser = new SseParser(1e6);
      const frames: Frame[] = [];
      for (let at = 0; at < all.length; ) {
        const to = at + 1 + Math.floor(random() * 12);
        frames.push(...parser.feed(all.subarray(at, to)));
        at = to;
      }
      expect(frames, `seed ${seed}`).toEqual(FRAMES);
    }
  });

  it.each([
    ["a frame that the end cuts off", "data: whole\n\ndata: half\n", [{ id: null, data: "whole" }]],
    ["a comment and an id without data", ": c\n\nid: 7\n\n", []],
    ["an id with NUL, which the standard ignores", "id: a\0b\ndata: x\n\n", [{ id: null, data: "x" }]],
    ["a field without a colon", "data\n\n", [{ id: null, data: "" }]],
    ["fields that it does not know", "event: e\nretry: 5\nfoo: bar\ndata: x\n\n", [{ id: null, data: "x" }]],
    ["a byte order mark", "\uFEFFdata: x\n\n", [{ id: null, data: "x" }]],
    ["one leading space only", "data:  x\n\n", [{ id: null, data: " x" }]],
  ] as const)("takes %s", (_, text, frames) => {
    expect(parse(text)).toEqual(frames);
  });

  it("does not carry an id over to the next frame", () => {
    expect(parse("id: r:1\ndata: a\n\ndata: b\n\n").map((frame) => frame.id)).toEqual(["r:1", null]);
  });

  it.each(["x".repeat(200), `data: ${"x".repeat(60)}\ndata: ${"x".repeat(60)}\n`])("refuses a frame beyond its bound", (text) => {
    expect(() => parse(text, 100)).toThrow(FrameTooLarge);
  });

  it("counts each frame anew", () => {
    expect(parse(`data: ${"x".repeat(80)}\n\n`.repeat(5), 100)).toHaveLength(5);
  });
});
