import type { Message } from "@ag-ui/core";
import { describe, expect, it } from "vitest";
import { buildRows, openAnswer, weightOf, type Row } from "./rows";

const NONE: ReadonlySet<string> = new Set();
const build = (messages: Message[], more: Partial<Parameters<typeof buildRows>[0]> = {}, previous?: readonly Row[]) =>
  buildRows({ messages, running: false, stopped: NONE, ...more }, previous);

const call = (id: string, args = "{}") => ({ id, type: "function" as const, function: { name: "search", arguments: args } });
const TALK: Message[] = [
  { id: "u1", role: "user", content: "hi" },
  { id: "a1", role: "assistant", toolCalls: [call("c1")] },
  { id: "t1", role: "tool", toolCallId: "c1", content: "found" },
  { id: "a2", role: "assistant", content: "Hello" },
];

describe("buildRows", () => {
  it("joins a tool call with its result and shows no row for the result", () => {
    const rows = build(TALK);
    expect(rows.map(({ id }) => id)).toEqual(["u1", "a1", "a2"]);
    expect(rows[1]).toMatchObject({ tools: [{ result: { content: "found" } }] });
  });

  it("gives the same rows for the same messages, and only new rows for what changed in place", () => {
    const messages = structuredClone(TALK);
    const first = build(messages, { running: true });
    expect(build(messages, { running: true }, first)).toBe(first);
    const last = messages[3];
    if (last?.role === "assistant") last.content = "Hello you";
    const second = build(messages, { running: true }, first);
    expect(second[0]).toBe(first[0]);
    expect(second[1]).toBe(first[1]);
    expect(second[2]).toMatchObject({ text: "Hello you", streaming: true });
    expect(first[2]).toMatchObject({ text: "Hello" });
  });

  it("keeps a streaming tool call's arguments apart from the message that goes on changing", () => {
    const messages: Message[] = [{ id: "a", role: "assistant", toolCalls: [call("c", '{"q')] }];
    const rows = build(messages);
    const message = messages[0];
    if (message?.role === "assistant" && message.toolCalls?.[0]) message.toolCalls[0].function.arguments = '{"q":1}';
    expect(rows[0]).toMatchObject({ tools: [{ call: { function: { arguments: '{"q' } } }] });
  });

  it("leaves out an assistant message that says nothing yet, and messages of other roles", () => {
    expect(build([{ id: "s", role: "system", content: "x" }, { id: "a", role: "assistant", content: "" }])).toEqual([]);
  });

  it("shows a message once, even if the client holds its id twice", () => {
    expect(build([...TALK, { id: "a2", role: "assistant", content: "Hello" }])).toHaveLength(3);
  });

  it("marks what was stopped here, and what the server says was stopped", () => {
    const told = { id: "a9", role: "assistant", content: "part", metadata: { stopped: true } } as Message;
    const rows = build([...TALK, told], { stopped: new Set(["a2"]) });
    expect(rows.filter((row) => row.kind === "assistant" && row.stopped).map(({ id }) => id)).toEqual(["a2", "a9"]);
  });

  it("tells an answer that nobody stopped from one that somebody did", () => {
    const lost = { id: "a9", role: "assistant", content: "part", metadata: { stopped: true, interrupted: true } } as Message;
    expect(build([lost]).at(-1)).toMatchObject({ stopped: true, interrupted: true });
    expect(build(TALK).at(-1)).toMatchObject({ stopped: false, interrupted: false });
  });

  it("keeps why the model did not end an answer, also where it has no words", () => {
    const cut = { id: "a9", role: "assistant", content: "", metadata: { cutOff: "length" } } as Message;
    const newer = { id: "a8", role: "assistant", content: "x", metadata: { cutOff: "a reason of tomorrow" } } as Message;
    expect(build([newer, cut]).map((row) => row.kind === "assistant" && row.cutOff)).toEqual([undefined, "length"]);
    const half: Message = { id: "a9", role: "assistant", content: "Half" };
    expect(build([{ ...half, metadata: { cutOff: "length" } }], {}, build([half]))[0]).toMatchObject({ cutOff: "length" });
  });

  it("says what became of a call by its result's metadata, also where only that has changed", () => {
    const outcome = { outcome: "refused", code: "forbidden", message: "Deleting needs the role admin." };
    const told = TALK.map((one) => (one.role === "tool" ? { ...one, content: "Error: a text that is not looked at", metadata: { middleCoreOutcome: outcome } } : one));
    expect(build(told)[1]).toMatchObject({ tools: [{ outcome }] });
    const late = told.map((one) => (one.role === "tool" ? { ...one, metadata: { middleCoreOutcome: { ...outcome, outcome: "unknown" } } } : one));
    expect(build(late, {}, build(told))[1]).toMatchObject({ tools: [{ outcome: { outcome: "unknown" } }] });
    expect(build(TALK)[1]).toMatchObject({ tools: [{ outcome: { outcome: "done", code: null } }] });
    expect(build(TALK.slice(0, 2))[1]).toMatchObject({ tools: [{ outcome: undefined }] });
  });

  it("shows a message that is on its way, once", () => {
    const outgoing = { id: "u2", text: "next" };
    expect(build(TALK, { outgoing }).at(-1)).toEqual({ kind: "user", id: "u2", text: "next", waiting: true });
    expect(build([...TALK, { id: "u2", role: "user", content: "next" }], { outgoing }).at(-1)).toMatchObject({ waiting: false });
  });

  it("reads the words of a user message in parts", () => {
    const parts = [{ type: "text", text: "look" }, { type: "image", source: { type: "url", value: "x" } }];
    expect(build([{ id: "u", role: "user", content: parts } as Message])[0]).toMatchObject({ text: "look" });
  });
});

describe("openAnswer", () => {
  it("is the assistant's last message after the person's", () => {
    expect(openAnswer(build(TALK))).toBe("a2");
    expect(openAnswer(build([...TALK, { id: "u2", role: "user", content: "x" }]))).toBeUndefined();
    expect(openAnswer([])).toBeUndefined();
  });
});

describe("weightOf", () => {
  it("grows with every word and every call", () => {
    expect(weightOf(build(TALK))).toBeGreaterThan(weightOf(build(TALK.slice(0, 3))));
    expect(weightOf([])).toBe(0);
  });
});

it("shows a question that is over where it was asked, and no other activity", () => {
  const content = { interruptId: "i", status: "answered", question: "What colour?", answer: "blue" };
  const messages = [
    { id: "u", role: "user" as const, content: "Hi" },
    { id: "i-question", role: "activity" as const, activityType: "middle_core.question", content },
    { id: "x", role: "activity" as const, activityType: "a2ui", content: {} },
    { id: "a", role: "assistant" as const, content: "Blue it is." },
  ];
  const rows = buildRows({ messages, running: false, stopped: new Set() });
  expect(rows.map(({ kind, text }) => [kind, text])).toEqual([
    ["user", "Hi"],
    ["asked", "What colour?\nanswered\nblue"],
    ["assistant", "Blue it is."],
  ]);
  expect(buildRows({ messages, running: false, stopped: new Set() }, rows)).toBe(rows);
});
