// @ts-check
/**
 * One turn of an agent over `/chat`, drawn as it happens: the page of graph.html.
 *
 * It puts the parts together: what a person does goes to the conversation, and what the conversation knows goes onto the
 * screen, at most once per frame. The parts are pure modules (the fold, the layout, reading a stream), the conversation, and
 * the views, each with a part of the screen.
 */

import { Cards } from "./cards.js";
import { Conversation } from "./conversation.js";
import { byId, html, setText, stayAtEnd, watchScrolling } from "./dom.js";
import { Drawing } from "./drawing.js";
import { outcomeOf, waitedMs } from "./entry.js";
import { textIn } from "./json.js";
import { showLegend, showNotes, showOutcome } from "./notices.js";
import { SignIn } from "./sign_in.js";
import { Speaker } from "./speaker.js";
import { Steps } from "./steps.js";
import { Talk } from "./talk.js";
import { duration, fullName, STATE_WORDS } from "./words.js";
/** @import { Entry, Phase } from "./entry.js" */
/** @import { Turn } from "./turn.js" */

/** How often running times are shown anew, in milliseconds. */
const TICK_MS = 100;
/** The style's boundary between one column and two. */
const WIDE = "(min-width: 62rem)";

class Page {
  #drawing = new Drawing(byId("canvas"));
  #talk = new Talk();
  #steps = new Steps();
  #speaker = new Speaker(byId("spoken"));
  #signIn = new SignIn(() => this.#entered());
  #conversation = new Conversation({
    request: (path, options) => this.#signIn.request(path, options),
    canStream: typeof ReadableStream === "function" && "body" in Response.prototype,
    now,
    onChange: () => this.#schedule(),
    onProgress: (before, after) => this.#tell(before, after),
    onEnd: (entry) => this.#ended(entry),
    onUnsent: (message) => giveBack(message),
  });
  #cards = new Cards((id, answer) => this.#conversation.answer(id, answer));
  #isScheduled = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #ticking;

  start() {
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    byId("message").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#send();
    });
    byId("stop").addEventListener("click", () => void this.#conversation.stop());
    byId("anew").addEventListener("click", () => this.#beginAnew());
    byId("agent").addEventListener("change", () => this.#beginAnew());
    byId("leave").addEventListener("click", () => {
      this.#signIn.leave();
      this.#beginAnew();
    });
    addEventListener("resize", () => this.#drawing.fit());
    addEventListener("online", () => this.#conversation.hurry());
    document.addEventListener("visibilitychange", () => this.#conversation.hurry());
    for (const pane of [byId("scroll"), byId("listed")]) watchScrolling(pane);
    showLegend();
    this.#render();
    void this.#signIn.begin();
  }

  // What a person does ------------------------------------------------------------------------------------------------

  #send() {
    const message = field.value.trim();
    if (message === "" || this.#conversation.last.phase === "busy" || !this.#signIn.isSignedIn) return;
    field.value = "";
    this.#conversation.send(message, agents.value);
  }

  #beginAnew() {
    this.#conversation.clear();
    if (this.#signIn.isSignedIn) field.focus();
  }

  /** Somebody has signed in: fill the list of agents, and keep the one that is chosen. */
  #entered() {
    const known = this.#signIn.agents;
    const chosen = agents.value;
    agents.replaceChildren(...known.map((agent) => html("option", { value: textIn(agent, "name") }, textIn(agent, "name"))));
    const standard = textIn(known.find((agent) => agent.default === true) ?? known[0] ?? {}, "name");
    agents.value = known.some((agent) => agent.name === chosen) ? chosen : standard;
    field.focus({ preventScroll: true });
    this.#schedule();
  }

  // What the conversation tells ---------------------------------------------------------------------------------------

  /** Read out which tasks began and ended. @param {Turn} before @param {Turn} after */
  #tell(before, after) {
    if (before.tasks === after.tasks) return;
    const known = new Map(before.tasks.map((task) => [task.id, task.outcome]));
    for (const { id, node, outcome, latencyMs } of after.tasks) {
      if (known.get(id) === outcome) continue;
      const time = latencyMs === undefined || outcome === "skipped" ? "" : `, ${duration(latencyMs)}`;
      this.#speaker.say(`${fullName(node)} ${STATE_WORDS[outcome]}${time}.`);
      if (!["ok", "skipped"].includes(outcome)) requestAnimationFrame(() => this.#drawing.reveal(node));
    }
  }

  /** @param {Entry} entry */
  #ended(entry) {
    this.#render();
    stayAtEnd(byId("scroll"));
    this.#speaker.say(`${outcomeOf(entry).words}.`);
    settleFocus(entry.phase);
  }

  // The screen --------------------------------------------------------------------------------------------------------

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      this.#render();
    });
  }

  #render() {
    const { last, entries, delivery, answers, threadId } = this.#conversation;
    const { turn, phase } = last;
    const isBusy = phase === "busy";
    const serverNow = now() - delivery.skewMs;
    this.#renderControls(isBusy);
    showOutcome(last, serverNow);
    showNotes(this.#conversation);
    if (turn.nodes.length > 0) this.#drawing.show(turn, isBusy, serverNow);
    else if (isBusy) this.#drawing.empty("Starting…", "The graph comes with the first event.");
    else this.#drawing.empty("No turn yet", "The graph of the agent is drawn here when a turn begins.");
    this.#talk.show(entries);
    this.#cards.show(phase === "paused" ? turn.interrupts : [], answers, waitedMs(turn, serverNow) ?? 0);
    this.#steps.show(last, threadId, serverNow);
    this.#tick(isBusy || phase === "paused");
  }

  /** @param {boolean} isBusy */
  #renderControls(isBusy) {
    const { isSignedIn, agents: known } = this.#signIn;
    const { isStopping, entries } = this.#conversation;
    const agent = known.find((one) => one.name === agents.value) ?? {};
    byId("who").hidden = !isSignedIn;
    agents.disabled = isBusy || known.length === 0;
    setText(byId("graph-heading"), textIn(agent, "name") || "The agent as a graph");
    setText(byId("about"), textIn(agent, "description"));
    send.disabled = !isSignedIn;
    send.hidden = isBusy;
    stop.hidden = !isBusy;
    stop.disabled = isStopping;
    setText(stop, isStopping ? "Stopping…" : "Stop");
    byId("anew").hidden = isBusy || entries.length === 0;
  }

  /** Show running times anew while there are any. @param {boolean} isMoving */
  #tick(isMoving) {
    if (isMoving) {
      this.#ticking ??= setInterval(() => this.#schedule(), TICK_MS);
      return;
    }
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }
}

const field = /** @type {HTMLTextAreaElement} */ (byId("message"));
const agents = /** @type {HTMLSelectElement} */ (byId("agent"));
const send = /** @type {HTMLButtonElement} */ (byId("send"));
const stop = /** @type {HTMLButtonElement} */ (byId("stop"));

/** Milliseconds since 1970, in fractions, and never backwards. */
function now() {
  return performance.timeOrigin + performance.now();
}

/** A message that did not become a turn can be sent again. @param {string} message */
function giveBack(message) {
  if (field.value === "") field.value = message;
}

/** What had the focus may be gone: a person at the keyboard goes on where it makes sense. @param {Phase} phase */
function settleFocus(phase) {
  const active = document.activeElement;
  const isElsewhere = active !== null && active !== document.body && active !== stop && active !== field;
  if (isElsewhere) return;
  const card = /** @type {HTMLElement | null} */ (document.querySelector(".card"));
  const isTyping = field.value !== "";
  if (phase === "paused" && card !== null && !isTyping) card.focus({ preventScroll: matchMedia(WIDE).matches });
  else field.focus({ preventScroll: true });
}

new Page().start();
