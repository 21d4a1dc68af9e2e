// @ts-check
/** The conversation on the screen: each message, its answer, and how the turn ended. It knows entries, and sends nothing. */

import { byId, html, icon, resize, setText, stayAtEnd } from "./dom.js";
import { outcomeOf, replyOf, workMs } from "./entry.js";
import { isObject, objectsIn, textIn } from "./json.js";
import { rendered } from "./markdown.js";
import { duration } from "./words.js";
/** @import { Entry } from "./entry.js" */
/** @import { Json } from "./json.js" */

export class Talk {
  #count = 0;

  /** @param {readonly Entry[]} entries */
  show(entries) {
    byId("welcome").hidden = entries.length > 0;
    const list = byId("turns");
    resize(list, entries.length, () => html("li", {}, html("p", { class: "asked" }), html("div", { class: "reply" }), html("div", { class: "after" })));
    entries.forEach((entry, index) => {
      const row = list.children[index];
      if (row !== undefined) showEntry(row, entry);
    });
    const isNew = this.#count !== entries.length;
    if (entries.at(-1)?.phase === "busy" || isNew) stayAtEnd(byId("scroll"), isNew);
    this.#count = entries.length;
  }
}

/** @param {Element} row @param {Entry} entry */
function showEntry(row, entry) {
  setText(row.querySelector(".asked"), entry.message);
  const reply = /** @type {HTMLElement | null} */ (row.querySelector(".reply"));
  const text = replyOf(entry.turn);
  if (reply !== null && reply.dataset.length !== String(text.length)) {
    reply.dataset.length = String(text.length);
    reply.replaceChildren(...rendered(text));
  }
  const after = /** @type {HTMLElement | null} */ (row.querySelector(".after"));
  const isOver = entry.turn.response !== undefined && !["busy", "paused"].includes(entry.phase);
  const shown = isOver ? `${entry.turn.runId} ${entry.phase}` : "";
  if (after === null || after.dataset.key === shown) return;
  after.dataset.key = shown;
  after.replaceChildren(...(isOver ? afterwards(entry) : []));
}

/** What stands below an answer: how it ended, and its sources. @param {Entry} entry */
function afterwards(entry) {
  const { turn } = entry;
  const { state, words } = outcomeOf(entry);
  const reason = replyOf(turn) === "" ? textIn(turn.response ?? {}, "reason") : "";
  const work = turn.tasks.length > 0 ? ` · ${duration(workMs(turn, 0))} at work` : "";
  const wait = turn.humanWaitMs === undefined ? "" : ` · ${duration(turn.humanWaitMs)} waiting for a person`;
  const ended = html("p", { class: "ended", "data-state": state }, icon(state), words + (reason === "" ? "" : `: ${reason}`) + work + wait);
  const reply = turn.response?.reply;
  const citations = isObject(reply) ? objectsIn(reply, "citations") : [];
  if (citations.length === 0) return [ended];
  const summary = citations.length === 1 ? "1 source" : `${citations.length} sources`;
  return [ended, html("details", { class: "cited" }, html("summary", {}, summary), html("ol", {}, ...citations.map(citation)))];
}

/** Only an address of the web becomes a link. @param {Json} one */
function citation(one) {
  const title = textIn(one, "title") || textIn(one, "source") || "Untitled";
  const location = textIn(one, "location");
  const isWeb = /^https?:\/\//i.test(location);
  const name = isWeb ? html("a", { href: location, rel: "noopener noreferrer", target: "_blank" }, title) : title;
  const excerpt = textIn(one, "excerpt");
  return html(
    "li",
    {},
    html("p", {}, name),
    ...(location === "" || isWeb ? [] : [html("p", { class: "muted mono" }, location)]),
    ...(excerpt === "" ? [] : [html("blockquote", {}, excerpt)]),
  );
}
