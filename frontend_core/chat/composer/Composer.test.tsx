import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Composer } from "./Composer";

let sent: string[];
let taken: boolean;
let stops: number;

beforeEach(() => {
  sessionStorage.clear();
  [sent, taken, stops] = [[], true, 0];
});
afterEach(cleanup);

function show(more: { running?: boolean; blocked?: string; onWithdraw?: () => void } = {}) {
  const element = (
    <Composer
      draftKey="t"
      running={more.running ?? false}
      blocked={more.blocked}
      onWithdraw={more.onWithdraw}
      placeholder="Ask"
      hint="hint"
      inputRef={null}
      onSend={(text) => {
        sent.push(text);
        return taken;
      }}
      onStop={() => {
        stops++;
      }}
    />
  );
  return render(element);
}

const input = (): HTMLTextAreaElement => screen.getByLabelText("Message");
const type = (text: string): void => {
  fireEvent.change(input(), { target: { value: text } });
};
const sendButton = (): HTMLButtonElement => screen.getByRole("button", { name: "Send" });

describe("Composer", () => {
  it("sends with Enter and is empty then", () => {
    show();
    type("  Hi ");
    fireEvent.keyDown(input(), { key: "Enter" });
    expect(sent).toEqual(["Hi"]);
    expect(input().value).toBe("");
    expect(sessionStorage.length).toBe(0);
  });

  it("sends neither with Shift+Enter nor while an input method composes nor without words", () => {
    show();
    fireEvent.keyDown(input(), { key: "Enter" });
    type("日本");
    fireEvent.keyDown(input(), { key: "Enter", shiftKey: true });
    fireEvent.keyDown(input(), { key: "Enter", isComposing: true });
    fireEvent.keyDown(input(), { key: "Enter", keyCode: 229 });
    expect(sent).toEqual([]);
    expect(sendButton().disabled).toBe(false);
  });

  it("keeps the words of a send that was not taken", () => {
    taken = false;
    show();
    type("Hi");
    fireEvent.click(sendButton());
    expect(sent).toEqual(["Hi"]);
    expect(input().value).toBe("Hi");
  });

  it("keeps the words across a reload", () => {
    show().unmount();
    show();
    type("half a thought");
    cleanup();
    show();
    expect(input().value).toBe("half a thought");
  });

  it("stops instead of sending while an answer is written, and one can type meanwhile", () => {
    show({ running: true });
    type("next");
    fireEvent.keyDown(input(), { key: "Enter" });
    fireEvent.click(screen.getByRole("button", { name: "Stop the answer" }));
    expect([sent, stops, input().value]).toEqual([[], 1, "next"]);
  });

  it("says why nothing can be sent", () => {
    show({ blocked: "Sign in again to send" });
    expect(input().placeholder).toBe("Sign in again to send");
    type("Hi");
    expect(sendButton().disabled).toBe(true);
  });

  it("offers to take back what the person is asked, and still sends", () => {
    let withdrawn = 0;
    show({ onWithdraw: () => { withdrawn++; } });
    type("Hi");
    fireEvent.click(screen.getByRole("button", { name: "Withdraw the request" }));
    fireEvent.click(sendButton());
    expect([withdrawn, sent]).toEqual([1, ["Hi"]]);
    cleanup();
    show({ running: true, onWithdraw: () => { withdrawn++; } });
    expect(screen.queryByRole("button", { name: "Withdraw the request" })).toBeNull();
  });
});
