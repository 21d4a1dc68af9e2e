import { describe, expect, it } from "vitest";
import { type Frame, SseParser } from "../../middle_core/graph_page/sse.js";
import { pieces, seeded } from "./random";

const bytes = (text: string) => new TextEncoder().encode(text);
const parse = (text: string) => new SseParser().feed(bytes(text));
const frame = (data: string, id?: string, event = "message"): Frame => ({ id, event, data });

const LINES = [
  ": middle-core",
  "",
  "retry: 1500",
  "",
  "event: graph_topology",
  'data: {"label":"你🌍é"}',
  "id: r:1",
  "",
  ": keep-alive",
  "",
  "id: r:2",
  "data: one",
  "data:two",
  "data",
  "data: \u2028\u0085 are text",
  "",
  "data: without an id",
  "",
];
const FRAMES = [frame('{"label":"你🌍é"}', "r:1", "graph_topology"), frame("one\ntwo\n\n\u2028\u0085 are text", "r:2"), frame("without an id")];

describe("SseParser", () => {
  it.each(["\n", "\r", "\r\n"])("reads ids, events and data of several lines that end with %j", (end) => {
    const parser = new SseParser();
    expect(parser.feed(bytes(LINES.join(end) + end))).toEqual(FRAMES);
    expect(parser.retryMs).toBe(1500);
  });

  it("reads the same however the bytes are cut and the lines end", () => {
    for (let seed = 0; seed < 400; seed += 1) {
      const random = seeded(seed);
      const ends = ["\n", "\r", "\r\n"];
      const mixed = LINES.map((line) => line + (ends[Math.floor(random() * 3)] ?? "\n")).join("");
      const alike = `\uFEFF${LINES.map((line) => line + (ends[seed % 3] ?? "\n")).join("")}`;
      for (const [text, frames] of [
        [mixed, parse(mixed)],
        [alike, FRAMES],
      ] as const) {
        const parser = new SseParser();
        expect(pieces(bytes(text), random, 1 + Math.floor(random() * 40)).flatMap((piece) => parser.feed(piece)), `seed ${seed}`).toEqual(frames);
      }
    }
  });

  it("does not wait for the byte after a CR", () => {
    expect(parse("data: x\r\r")).toEqual([frame("x")]);
  });

  it.each([
    ["a frame that the end cuts off", "data: whole\n\nid: 9\ndata: half\n", [frame("whole")]],
    ["a frame without data", "event: e\nid: 1\n\ndata: x\n\n", [frame("x")]],
    ["an id with NUL, which the standard ignores", "id: a\0b\ndata: x\n\n", [frame("x")]],
    ["an empty id", "id\ndata: x\n\n", [frame("x", "")]],
    ["fields that it does not know", "foo: bar\nDATA: y\n data: z\ndata: x\n\n", [frame("x")]],
    ["one leading space only", "data:  x\n\n", [frame(" x")]],
    ["a byte order mark in the middle", "data: x\n\n\uFEFFdata: y\n\n", [frame("x")]],
    ["bytes that are no UTF-8", new Uint8Array([100, 97, 116, 97, 58, 255, 10, 10]), [frame("\uFFFD")]],
  ] as const)("takes %s", (_, text, frames) => {
    expect(new SseParser().feed(typeof text === "string" ? bytes(text) : text)).toEqual(frames);
  });

  it.each(["", "x", "-1", "1.5", "1e3"])("does not take %j for a time to wait", (value) => {
    const parser = new SseParser();
    parser.feed(bytes(`retry: ${value}\n\n`));
    expect(parser.retryMs).toBeUndefined();
  });

  it("refuses a frame beyond its bound, and counts each frame anew", () => {
    const many = bytes(`data: ${"x".repeat(80)}\n\n`.repeat(5));
    expect(new SseParser(100).feed(many)).toHaveLength(5);
    expect(() => new SseParser(100).feed(bytes("x".repeat(101)))).toThrow("larger than 100");
    const parser = new SseParser(100);
    parser.feed(bytes(`data: ${"x".repeat(60)}\n`));
    expect(() => parser.feed(bytes(`data: ${"x".repeat(60)}\n`))).toThrow("larger than 100");
  });
});
