// @ts-check
/** The table of steps: the same as the drawing, in the order in which it happened; and the turn's facts below it. */

import { byId, html, icon, resize, setText, stayAtEnd } from "./dom.js";
import { numberIn, objectsIn, textIn } from "./json.js";
import { round } from "./routes.js";
import { duration, fullName, STATE_WORDS } from "./words.js";
/** @import { Entry } from "./entry.js" */
/** @import { Task } from "./run_graph.js" */

/** isCode: shown in the typeface of ids. @typedef {{ label: string, value: string, isCode: boolean }} Fact */

export class Steps {
  #count = 0;
  #facts = "";

  /** @param {Entry} entry @param {string} threadId @param {number} now by the server's clock, in milliseconds */
  show(entry, threadId, now) {
    const { tasks } = entry.turn;
    byId("nothing").hidden = tasks.length > 0;
    const rows = byId("rows");
    if (rows.parentElement !== null) rows.parentElement.hidden = tasks.length === 0;
    resize(rows, tasks.length, stepRow);
    const began = Math.min(...tasks.map(({ startedAt }) => startedAt));
    const span = Math.max(1, ...tasks.map((task) => task.startedAt + msOf(task, now) - began));
    tasks.forEach((task, index) => {
      const row = rows.children[index];
      if (row !== undefined) showStep(row, task, { began, span, now });
    });
    if (rows.childElementCount !== this.#count) stayAtEnd(byId("listed"));
    this.#count = rows.childElementCount;
    this.#showFacts(factsOf(entry, threadId));
  }

  /** @param {readonly Fact[]} facts */
  #showFacts(facts) {
    const list = byId("facts");
    list.hidden = facts.length === 0;
    const shown = JSON.stringify(facts);
    if (this.#facts === shown) return;
    this.#facts = shown;
    list.replaceChildren(...facts.flatMap(({ label, value, isCode }) => [html("dt", {}, label), html("dd", { class: isCode ? "mono" : undefined }, value)]));
  }
}

/** How long a task took, or takes until now. @param {Task} task @param {number} now */
function msOf({ startedAt, latencyMs }, now) {
  return latencyMs ?? Math.max(0, now - startedAt);
}

/** @param {number} index */
function stepRow(index) {
  const node = html("td", {}, html("span", { class: "step" }), html("span", { class: "lane", "aria-hidden": "true" }, html("i")));
  return html("tr", {}, html("td", {}, String(index + 1)), node, html("td", {}, html("span", { class: "state" })), html("td", { class: "time" }));
}

/** @param {Element} row @param {Task} task @param {{ began: number, span: number, now: number }} times of all tasks, in milliseconds */
function showStep(row, task, { began, span, now }) {
  const { outcome } = task;
  const isSkipped = outcome === "skipped";
  const ms = msOf(task, now);
  setText(row.querySelector(".step"), fullName(task.node));
  setText(row.querySelector(".time"), isSkipped ? "–" : duration(ms));
  const bar = /** @type {HTMLElement | null} */ (row.querySelector("i"));
  if (bar !== null) {
    bar.style.left = `${round(((task.startedAt - began) / span) * 100)}%`;
    bar.style.width = `${isSkipped ? 0 : round((ms / span) * 100)}%`;
  }
  if (row.getAttribute("data-state") === outcome) return;
  row.setAttribute("data-state", outcome);
  row.querySelector(".state")?.replaceChildren(icon(outcome), STATE_WORDS[outcome]);
}

/** @param {Entry} entry @param {string} threadId @returns {readonly Fact[]} */
function factsOf({ turn, phase }, threadId) {
  /** @type {Fact[]} */
  const facts = [];
  if (turn.humanWaitMs !== undefined) facts.push({ label: "Human wait", value: duration(turn.humanWaitMs), isCode: false });
  for (const usage of phase === "busy" ? [] : objectsIn(turn.response ?? {}, "usage")) {
    const counts = [numberIn(usage, "input_tokens"), numberIn(usage, "output_tokens")];
    const told = ["in", "out"].flatMap((way, index) => (counts[index] === undefined ? [] : [`${counts[index].toLocaleString("en")} ${way}`]));
    if (told.length > 0) facts.push({ label: "Tokens", value: `${told.join(", ")} (${textIn(usage, "model") || "model"})`, isCode: false });
  }
  if (turn.runId !== "") facts.push({ label: "Run", value: turn.runId, isCode: true });
  if (threadId !== "") facts.push({ label: "Thread", value: threadId, isCode: true });
  return facts;
}
