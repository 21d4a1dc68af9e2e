import { describe, expect, it } from "vitest";
import { asText, newest, readCard, readVerdict, visible } from "./approval";

const whole = {
  interruptId: "i1",
  toolCallId: "c1",
  kind: "delete_source",
  title: "Delete “Notes”?",
  facts: [{ label: "Objects", value: 12_345 }, { label: "Id", value: "s1" }, "no fact", { value: "no label" }],
  confirm: "Delete permanently",
  cancel: "Cancel",
  danger: true,
  state: "new",
  tool: "delete_source",
  fromModel: { source_id: "s1" },
  editable: ["steps"],
  fields: [{ name: "steps", kind: "list", nullable: false, minItems: 1 }, { name: "when", kind: "date" }, 7],
  askedAt: 1,
  answerBy: 2,
};

describe("readCard", () => {
  it("reads the server's fields, and leaves out what is none", () => {
    expect(readCard(whole)).toEqual({
      interruptId: "i1",
      toolCallId: "c1",
      kind: "delete_source",
      title: "Delete “Notes”?",
      facts: [{ label: "Objects", value: "12,345" }, { label: "Id", value: "s1" }],
      confirm: "Delete permanently",
      cancel: "Cancel",
      danger: true,
      problem: "",
      state: "new",
      tool: "delete_source",
      fromModel: { source_id: "s1" },
      fields: [expect.objectContaining({ name: "steps", kind: "list" })],
      answerBy: 2,
    });
  });

  it.each([undefined, null, "text", 7, [], {}, { ...whole, interruptId: "" }, { ...whole, title: 7 }])("is no card: %j", (value) => {
    expect(readCard(value)).toBeUndefined();
  });

  it("waits for the whole of it: its last field is the time limit, or that there is none", () => {
    const { answerBy, ...unfinished } = whole;
    expect(answerBy).toBe(2);
    expect(readCard(unfinished)).toBeUndefined();
    expect(readCard({ ...unfinished, answerBy: null })?.answerBy).toBeUndefined();
  });

  it("has words for both buttons, whatever comes", () => {
    expect(readCard({ ...whole, confirm: "", cancel: null })).toMatchObject({ confirm: "Approve", cancel: "Cancel" });
  });

  it("shows nothing that turns text around or hides it", () => {
    const card = readCard({ ...whole, title: "Delete \u202egpj.exe\u202c", facts: [{ label: "Na\u200bme", value: "a\u0007b\u2066c" }] });
    expect(card).toMatchObject({ title: "Delete gpj.exe", facts: [{ label: "Name", value: "abc" }] });
  });
});

describe("text", () => {
  it("keeps lines, tabs, joined emoji and every script", () => {
    const text = "a\tb\nc 👩\u200d💻 می\u200cخواهم straße 词语";
    expect(visible(text)).toBe(text);
    expect(visible("a\r\nb\rc")).toBe("a\nb\nc");
  });

  it("of the model's is laid out as it is", () => {
    expect(asText("<b>bold</b>")).toBe("<b>bold</b>");
    expect(asText({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}');
  });
});

describe("verdicts", () => {
  it("are read from an object or its JSON; this page's own answer is none", () => {
    const verdict = { status: "executed", ok: true, message: "done" };
    expect(readVerdict({ ...verdict, more: 1 })).toEqual(verdict);
    expect(readVerdict(JSON.stringify(verdict))).toEqual(verdict);
    for (const none of ['{"approved":true}', "words", "", undefined, null, { status: "unheard of" }]) expect(readVerdict(none)).toBeUndefined();
  });

  it("end once: a late word of the way there takes nothing back", () => {
    const on = { status: "approved", ok: undefined, message: "" } as const;
    const end = { status: "executed", ok: true, message: "" } as const;
    expect(newest(on, end)).toBe(end);
    expect(newest(end, on)).toBe(end);
    expect(newest(undefined, on)).toBe(on);
    expect(newest(on, undefined)).toBe(on);
  });
});
