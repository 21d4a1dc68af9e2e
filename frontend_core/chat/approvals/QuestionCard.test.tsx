import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readQuestion } from "./question";
import { AskedCard, QuestionCard } from "./QuestionCard";

let answers: unknown[];
let events: string[];

beforeEach(() => {
  [answers, events] = [[], []];
});
afterEach(cleanup);

function show(raw: unknown, more: { busy?: boolean } = {}) {
  render(
    <QuestionCard
      interruptId="i1"
      question={readQuestion(raw)}
      busy={more.busy ?? false}
      onAnswer={(value) => answers.push(value)}
      onCancel={() => events.push("cancel")}
      onWithdraw={() => events.push("withdraw")}
      onSay={(words) => events.push(words)}
    />,
  );
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });

it("is a named group that takes the focus and says that somebody is asked", () => {
  show("What <b>colour</b>?");
  expect(document.activeElement).toBe(screen.getByRole("group", { name: "What <b>colour</b>?" }));
  expect(events).toEqual(["You are asked: What <b>colour</b>?"]);
});

it("answers in words, with Enter or the button, and not without words", () => {
  show("What colour?");
  const input = screen.getByLabelText("Your answer");
  fireEvent.click(button("Answer"));
  expect(screen.getByTestId("question-problem").textContent).toBe("Type an answer.");
  expect(document.activeElement).toBe(input);
  fireEvent.change(input, { target: { value: "blue" } });
  expect(screen.queryByTestId("question-problem")).toBeNull();
  fireEvent.keyDown(input, { key: "Enter", shiftKey: true });
  fireEvent.keyDown(input, { key: "Enter", isComposing: true });
  expect(answers).toEqual([]);
  fireEvent.keyDown(input, { key: "Enter" });
  expect(answers).toEqual(["blue"]);
});

it("gives the value behind a choice, exactly", () => {
  show({ question: "How many?", options: [0, null, false, "", 2] });
  for (const { name } of [{ name: "0" }, { name: "(nothing)" }, { name: "No" }, { name: "(empty)" }, { name: "2" }]) fireEvent.click(button(name));
  expect(answers).toStrictEqual([0, null, false, "", 2]);
});

it("can be cancelled, and withdrawn with Escape", () => {
  show("What colour?");
  fireEvent.click(button("Cancel"));
  fireEvent.keyDown(screen.getByLabelText("Your answer"), { key: "Escape" });
  expect(events.slice(1)).toEqual(["cancel", "withdraw"]);
});

it("takes no answer while something else goes on", () => {
  show({ question: "Which?", options: ["a"] }, { busy: true });
  fireEvent.keyDown(screen.getByRole("group", { name: "Which?" }), { key: "Escape" });
  expect([button("a").disabled, button("Cancel").disabled, events.slice(1)]).toEqual([true, true, []]);
});

it("shows data as text", () => {
  show({ draft: { body: "<script>alert(1)</script>" } });
  expect(screen.getByTestId("question-data").textContent).toContain("<script>alert(1)</script>");
  expect(document.querySelector("script")).toBeNull();
});

it("over, it says how it was answered", () => {
  render(<AskedCard asked={{ interruptId: "i", status: "answered", question: readQuestion("What colour?"), answer: "blue" }} />);
  expect(screen.getByTestId("question-outcome").textContent).toBe("You answered: blue");
  cleanup();
  render(<AskedCard asked={{ interruptId: "i", status: "withdrawn", question: readQuestion("What colour?"), answer: undefined }} />);
  expect(screen.getByTestId("question-outcome").textContent).toBe("Withdrawn without an answer.");
  expect(screen.queryAllByRole("button")).toEqual([]);
});
