import type { Message } from "@ag-ui/client";
import { describe, expect, it } from "vitest";

import { upload } from "./messageFilter";

const say = (id: string, role: string): Message => ({ id, role, content: id }) as Message;
const ids = (messages: readonly Message[]): string[] => upload(messages).map(({ id }) => id);

describe("what goes up with a run", () => {
  const talk = [say("u1", "user"), say("a1", "assistant"), say("u2", "user"), say("a2", "assistant")];

  it("is the new message and the answer before it, however long the conversation is", () => {
    expect(ids([...talk, say("u3", "user")])).toEqual(["a2", "u3"]);
    expect(ids([say("u1", "user")])).toEqual(["u1"]);
  });

  it("is a message that could not be sent, too", () => {
    expect(ids([...talk, say("u3", "user"), say("u4", "user")])).toEqual(["a2", "u3", "u4"]);
  });

  it("is the results of the page's tools, with the call", () => {
    expect(ids([...talk, say("t1", "tool"), say("t2", "tool")])).toEqual(["a2", "t1", "t2"]);
  });

  it("ends with the message to answer anew", () => {
    expect(ids(talk.slice(0, 3))).toEqual(["a1", "u2"]);
  });

  it("is bounded", () => {
    const many = Array.from({ length: 50 }, (_, at) => say(`u${at}`, "user"));
    expect(upload(many)).toHaveLength(20);
    expect(upload([])).toEqual([]);
  });
});
