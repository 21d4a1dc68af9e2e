// @ts-check
/**
 * The cards of open questions: what will happen, in the system's words; what the model wrote stands apart from it.
 *
 * It knows a question's JSON (docs/chat.md), and hands the answer on.
 */

import { byId, html, icon, setText } from "./dom.js";
import { numberIn, objectsIn, textIn } from "./json.js";
import { questionId } from "./turn.js";
import { duration } from "./words.js";
/** @import { Json } from "./json.js" */

export class Cards {
  /** @type {readonly Json[]} The questions whose cards are on the screen. */
  #shown = [];

  /** @param {(id: string, answer: Json) => void} onAnswer */
  constructor(onAnswer) {
    this.onAnswer = onAnswer;
  }

  /**
   * @param {readonly Json[]} questions
   * @param {ReadonlyMap<string, Json>} answers given so far, by the question's id
   * @param {number} waitedMs
   */
  show(questions, answers, waitedMs) {
    if (questions !== this.#shown && (questions.length > 0 || this.#shown.length > 0)) {
      this.#shown = questions;
      byId("cards").replaceChildren(...questions.map((one) => card(one, (answer) => this.onAnswer(questionId(one), answer))));
    }
    for (const shown of byId("cards").children) {
      setText(shown.querySelector(".waited"), `Waiting for you: ${duration(waitedMs)}`);
      const given = answers.get(/** @type {HTMLElement} */ (shown).dataset.id ?? "");
      for (const button of shown.querySelectorAll("button[value]")) button.setAttribute("aria-pressed", String(given?.decision === /** @type {HTMLButtonElement} */ (button).value));
    }
  }
}

/** @param {Json} question @param {(answer: Json) => void} answer */
function card(question, answer) {
  const isFree = textIn(question, "kind") === "question"; // A graph's own question wants a value, an approval yes or no.
  const title = textIn(question, "title") || textIn(question, "message") || "The agent asks something";
  const heading = `card-${questionId(question)}`;
  const shown = html("article", { class: "card", tabindex: "-1", "aria-labelledby": heading, "data-id": questionId(question), "data-testid": "card" }, html("h3", { id: heading }, title));
  const facts = objectsIn(question, "facts");
  if (facts.length > 0) shown.append(html("dl", {}, ...facts.flatMap((fact) => [html("dt", {}, textIn(fact, "label")), html("dd", {}, String(fact.value ?? ""))])));
  if (textIn(question, "problem") !== "") shown.append(html("p", { class: "problem" }, textIn(question, "problem")));
  const given = isFree ? question.value : question.arguments;
  if (!saysNothingNew(given, title)) {
    const summary = isFree ? "What was asked" : "In the assistant’s words";
    const text = typeof given === "string" ? given : JSON.stringify(given, null, 2);
    shown.append(html("details", { open: isFree || facts.length === 0 }, html("summary", {}, summary), html("pre", {}, text)));
  }
  const field = /** @type {HTMLInputElement} */ (html("input", { class: "text", autocomplete: "off" }));
  if (isFree) shown.append(html("label", {}, "Your answer", field));
  shown.append(html("p", { class: "wait" }, icon("interrupted"), html("span", { class: "waited" }), html("span", {}, deadlineOf(question))));
  /** @param {string} value @param {string} words @param {string} look */
  const button = (value, words, look) => {
    const made = html("button", { type: "button", value, class: look, "aria-pressed": "false" }, words);
    made.addEventListener("click", () => answer(value === "answer" ? { decision: value, value: field.value } : { decision: value }));
    return made;
  };
  const approve = () => button("approve", textIn(question, "confirm") || "Approve", question.danger === true ? "strong danger" : "strong");
  const yes = isFree ? button("answer", "Answer", "strong") : approve();
  const no = isFree ? button("cancel", "Do not answer", "quiet") : button("reject", textIn(question, "cancel") || "Reject", "quiet");
  shown.append(html("div", { class: "actions" }, yes, no));
  return shown;
}

/** @param {unknown} given @param {string} title */
function saysNothingNew(given, title) {
  return ["null", "{}", undefined, JSON.stringify(title), JSON.stringify({ message: title })].includes(JSON.stringify(given));
}

/** @param {Json} question */
function deadlineOf(question) {
  const until = numberIn(question, "answer_by");
  if (until === undefined) return "";
  return `· open until ${new Date(until).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false })}`;
}
