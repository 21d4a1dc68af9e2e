// @ts-check
/** What is told above the drawing: how the turn stands, and what is wrong with it or with the connection; and the legend below it. */

import { ENDED_OUTCOMES } from "./contract.js";
import { byId, html, icon, setText, svg } from "./dom.js";
import { outcomeOf, waitedMs, workMs } from "./entry.js";
import { wordsFor, wordsOfError } from "./failures.js";
import { duration, STATE_WORDS } from "./words.js";
/** @import { Conversation } from "./conversation.js" */
/** @import { IconName } from "./dom.js" */
/** @import { Entry } from "./entry.js" */
/** @import { Outcome } from "./run_graph.js" */

/** How the turn stands, and its time. @param {Entry} entry @param {number} now by the server's clock, in milliseconds */
export function showOutcome(entry, now) {
  const { turn, phase } = entry;
  const { state, words } = outcomeOf(entry);
  const outcome = byId("outcome");
  if (outcome.dataset.state !== state || outcome.dataset.words !== words) {
    [outcome.dataset.state, outcome.dataset.words] = [state, words];
    outcome.replaceChildren(icon(state), html("span", {}, words), html("span", { "aria-hidden": "true", class: "clock" }));
  }
  const clock = phase === "paused" ? waitedMs(turn, now) : turn.tasks.length > 0 ? workMs(turn, now) : undefined;
  setText(outcome.querySelector(".clock"), clock === undefined ? "" : `· ${duration(clock)}`);
}

/** @param {Conversation} conversation */
export function showNotes(conversation) {
  showNote("link", "again", linkWords(conversation));
  showNote("held", "again", heldWords(conversation));
  const failure = showNote("failure", "error", failureWords(conversation));
  if (failure === undefined || !conversation.canReattach) return;
  const again = html("button", { type: "button", class: "quiet" }, "Attach again");
  again.addEventListener("click", () => conversation.reattach());
  failure.append(again);
}

/** @param {Conversation} conversation */
function linkWords({ link: { open, failures } }) {
  return open ? "" : `The connection broke. Attaching again behind the last event${failures > 1 ? `, try ${failures}` : ""}…`;
}

/** Why what is shown is not all, or came late. @param {Conversation} conversation */
function heldWords({ last: { turn, phase }, isWithoutEvents, delivery: { held } }) {
  if (phase === "paused" && turn.interrupts.length === 0) return "What is asked is too large to be shown here. Answer it where the conversation is open, or send another message.";
  if (isWithoutEvents) return "The answer came in one piece, so the graph is drawn once, from its times. The lines show the order in which nodes ran.";
  if (held === undefined) return "";
  const late = `${held.oneBlock ? "The events came in one block" : "Events come in blocks"}, up to ${duration(held.heldMs)} after they happened.`;
  return `${late} Something between this page and the server holds the stream back (a buffering proxy).`;
}

/** @param {Conversation} conversation */
function failureWords({ failure, last: { turn } }) {
  if (failure !== undefined) return wordsFor(failure);
  return turn.error === undefined ? "" : wordsOfError(turn.error);
}

/** Show a note with these words, or none. Returns the note when its words are new. @param {string} id @param {IconName} sign @param {string} words */
function showNote(id, sign, words) {
  const note = byId(id);
  note.hidden = words === "";
  if (note.dataset.words === words) return undefined;
  note.dataset.words = words;
  note.replaceChildren(...(words === "" ? [] : [icon(sign), html("span", {}, words)]));
  return words === "" ? undefined : note;
}

export function showLegend() {
  const conditional = [svg("path", { class: "edge", d: "M9 5H29", "data-conditional": true }), svg("path", { class: "fork", d: "M1 5 5 1.6 9 5 5 8.4z" })];
  const taken = svg("path", { class: "edge", d: "M1 5H29", "data-taken": true });
  /** @param {...Element} parts */
  const line = (...parts) => svg("svg", { class: "line", viewBox: "0 0 30 10", "aria-hidden": "true" }, ...parts);
  const states = /** @type {const} */ (["running", ...ENDED_OUTCOMES]);
  byId("legend").replaceChildren(
    ...states.map((state) => html("li", {}, icon(state), STATE_WORDS[state])),
    html("li", {}, line(...conditional), "conditional"),
    html("li", {}, line(taken), "taken"),
  );
}
