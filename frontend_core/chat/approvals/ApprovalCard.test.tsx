import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApprovalCard, type Answer } from "./ApprovalCard";
import { readCard, type Verdict } from "./approval";
import type { Look } from "./cardStatus";

let answers: Answer[];
let said: string[];
let withdrawn: number;
let open: Set<string>;
let looks: Map<string, Look>;

beforeEach(() => {
  [answers, said, withdrawn] = [[], [], 0];
  open = new Set();
  looks = new Map();
});
afterEach(() => {
  vi.useRealTimers();
  cleanup();
});

const DELETION = {
  interruptId: "i1",
  kind: "delete_source",
  title: "Delete “Notes” permanently?",
  facts: [{ label: "Name", value: "Notes" }, { label: "Objects", value: 12 }],
  confirm: "Delete permanently",
  cancel: "Cancel",
  danger: true,
  fromModel: { source_id: "s1", reason: "The user asked for <b>it</b>." },
  answerBy: null as number | null,
};
const PLAN = { ...DELETION, kind: "confirm_plan", title: "Follow this plan?", danger: false, fromModel: { goal: "Tidy", steps: ["one", "two"] }, editable: ["steps"], fields: [{ name: "steps", kind: "list", minItems: 1 }] };
const MAIL = {
  ...DELETION,
  kind: "action",
  fromModel: { to: "Ann", copies: 2, urgent: false, tone: "dry", note: null, id: "m1" },
  fields: [
    { name: "to", kind: "text", minLength: 1 },
    { name: "copies", kind: "integer", minimum: 1, maximum: 5 },
    { name: "urgent", kind: "boolean" },
    { name: "tone", kind: "choice", options: ["dry", "warm"] },
    { name: "note", kind: "text", nullable: true },
  ],
};

interface More {
  readonly card?: object;
  readonly verdict?: Verdict;
  readonly sent?: boolean;
  readonly busy?: boolean;
}

function element({ card = DELETION, verdict, sent = false, busy = false }: More = {}) {
  const read = readCard(card);
  if (read === undefined) throw new Error("This is no card.");
  return (
    <ApprovalCard
      card={read}
      verdict={verdict}
      sent={sent}
      busy={busy}
      onAnswer={(answer) => answers.push(answer)}
      onWithdraw={() => {
        withdrawn++;
      }}
      onSay={(words) => said.push(words)}
      onOpen={(id) => {
        open.add(id);
        return () => open.delete(id);
      }}
      looks={looks}
    />
  );
}

const group = () => screen.getByRole("group");
const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });

it("shows the server's facts, and the model's words apart, as text", () => {
  render(element());
  expect(screen.getByTestId("approval-facts").textContent).toBe("NameNotesObjects12");
  const model = screen.getByTestId("approval-model");
  expect(within(model).getByText("The assistant wrote")).toBeTruthy();
  expect(model.textContent).toContain("The user asked for <b>it</b>.");
  expect(model.querySelector("b")).toBeNull();
});

it("says that it can be answered, and that it no longer can", () => {
  const { rerender } = render(element());
  expect([...open]).toEqual(["i1"]);
  rerender(element({ sent: true }));
  expect([...open]).toEqual([]);
});

it("drawn anew elsewhere when it is answered, it still tells what became of it", () => {
  render(element()).unmount();
  said = [];
  render(element({ verdict: { status: "rejected", ok: undefined, message: "" } }));
  expect(said).toEqual(["Delete “Notes” permanently? Cancelled. Nothing was done."]);
});

it("is a named group that takes the focus, and has the harmless answer first", () => {
  render(element());
  expect(group().getAttribute("aria-labelledby")).toBe(screen.getByText(/Delete “Notes”/).parentElement?.id);
  expect(document.activeElement).toBe(group());
  expect(screen.getAllByRole("button").map(({ textContent }) => textContent)).toEqual(["Cancel", "Delete permanently"]);
  expect(said).toEqual(["Your approval is needed: Delete “Notes” permanently?"]);
});

it("leaves the focus with somebody who is typing", () => {
  const { rerender } = render(<textarea defaultValue="half a" />);
  const typing = screen.getByRole("textbox");
  typing.focus();
  rerender(<><textarea key="t" defaultValue="half a" autoFocus />{element()}</>);
  expect(document.activeElement?.tagName).toBe("TEXTAREA");
});

it("answers yes and no", () => {
  render(element());
  fireEvent.click(button("Delete permanently"));
  fireEvent.click(button("Cancel"));
  expect(answers).toEqual([{ approved: true }, { approved: false }]);
});

it("is withdrawn by Escape", () => {
  render(element());
  fireEvent.keyDown(group(), { key: "Escape" });
  expect(withdrawn).toBe(1);
});

it("takes no answer while something else goes on", () => {
  render(element({ busy: true }));
  fireEvent.keyDown(group(), { key: "Escape" });
  expect([button("Cancel").disabled, button("Delete permanently").disabled, withdrawn]).toEqual([true, true, 0]);
});

it.each([
  ["executed", { status: "executed", ok: true, message: "" }, "Approved and done."],
  ["failed", { status: "executed", ok: false, message: "The source is in use." }, "The source is in use."],
  ["rejected", { status: "rejected", ok: undefined, message: "" }, "Cancelled. Nothing was done."],
  ["withdrawn", { status: "withdrawn", ok: false, message: "" }, "Withdrawn. Nothing was done."],
  ["expired", { status: "expired", ok: undefined, message: "" }, "The time for this is over. Nothing was done."],
  ["indeterminate", { status: "indeterminate", ok: undefined, message: "" }, "Approved and begun. Whether it took effect is unknown."],
] as const)("closed, it takes no answer and says so once: %s", (look, verdict, words) => {
  render(element({ verdict }));
  expect(group().dataset.look).toBe(look);
  expect(screen.getByTestId("approval-outcome").textContent).toBe(words);
  expect(screen.queryAllByRole("button")).toEqual([]);
  expect(said).toEqual([]);
});

it("tells a screen reader what became of it", () => {
  const { rerender } = render(element());
  rerender(element({ sent: true }));
  rerender(element({ verdict: { status: "executed", ok: true, message: "" } }));
  expect(said.slice(1)).toEqual(["Delete “Notes” permanently? Sending your answer…", "Delete “Notes” permanently? Approved and done."]);
});

it("is over when its time is", () => {
  vi.useFakeTimers({ now: 1_000 });
  const { rerender } = render(element({ card: { ...DELETION, answerBy: 31_000 } }));
  expect(screen.getByTestId("approval-time").textContent).toBe("0:30 left");
  vi.advanceTimersByTime(30_000);
  rerender(element({ card: { ...DELETION, answerBy: 31_000 } }));
  expect(group().dataset.look).toBe("expired");
});

it("asks once more with the reason before everything else", () => {
  render(element({ card: { ...DELETION, state: "unknown", problem: "It was cut off.", confirm: "Try again", cancel: "Leave it" } }));
  expect(screen.getByTestId("approval-problem").textContent).toBe("It was cut off.");
  expect(screen.getAllByRole("button").map(({ textContent }) => textContent)).toEqual(["Leave it", "Try again"]);
});

it("sends a plan as it was changed, and not before it can be sent", () => {
  render(element({ card: PLAN }));
  fireEvent.click(button("Move step 2 up"));
  fireEvent.change(screen.getByLabelText("Step 2"), { target: { value: "" } });
  fireEvent.click(button("Delete permanently"));
  expect(screen.getByTestId("plan-problem").textContent).toBe("Step 2 is empty.");
  expect(answers).toEqual([]);
  fireEvent.change(screen.getByLabelText("Step 2"), { target: { value: "uno" } });
  fireEvent.click(button("Delete permanently"));
  expect(answers).toEqual([{ approved: true, edits: { steps: ["two", "uno"] } }]);
});

it("sends a plan that was left alone without changes, and shows what was agreed on", () => {
  const { rerender } = render(element({ card: PLAN }));
  fireEvent.click(button("Delete permanently"));
  expect(answers).toEqual([{ approved: true }]);
  rerender(element({ card: PLAN, verdict: { status: "executed", ok: true, message: "", edits: { steps: ["two", "three"] } } }));
  expect(screen.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual(["two", "three"]);
  expect(screen.queryByRole("textbox")).toBeNull();
});

it("sends only the fields that were changed, each as what it is", () => {
  render(element({ card: MAIL }));
  expect(screen.getByTestId("approval-model").textContent).toBe("The assistant wroteidm1");
  fireEvent.change(screen.getByLabelText("Copies"), { target: { value: " 3 " } });
  fireEvent.change(screen.getByLabelText("Urgent"), { target: { value: "0" } });
  fireEvent.change(screen.getByLabelText("Tone"), { target: { value: "1" } });
  fireEvent.change(screen.getByLabelText("Note"), { target: { value: "By noon" } });
  fireEvent.click(button("Delete permanently"));
  expect(answers).toEqual([{ approved: true, edits: { copies: 3, urgent: true, tone: "warm", note: "By noon" } }]);
});

it("says what is wrong with a field when it is to be sent, and not before", () => {
  render(element({ card: MAIL }));
  fireEvent.change(screen.getByLabelText("Copies"), { target: { value: "9" } });
  expect(screen.queryByTestId("field-problem")).toBeNull();
  fireEvent.click(button("Delete permanently"));
  expect(screen.getByTestId("field-problem").textContent).toBe("Copies: at most 5 is possible.");
  expect(screen.getByLabelText("Copies").getAttribute("aria-invalid")).toBe("true");
  expect([answers, said.at(-1)]).toEqual([[], "Copies: at most 5 is possible."]);
});

it("shows what was agreed on, and what of it the person changed", () => {
  render(element({ card: MAIL, verdict: { status: "executed", ok: true, message: "", edits: { to: "Bob", urgent: true } } }));
  expect(screen.getByTestId("approval-agreed").textContent).toBe("ToBob (changed)Copies2UrgentYes (changed)Tonedry");
  cleanup();
  render(element({ card: MAIL, verdict: { status: "withdrawn", ok: false, message: "", edits: { to: "Bob" } } }));
  expect(screen.getByTestId("approval-agreed").textContent).toContain("ToAnn");
});
