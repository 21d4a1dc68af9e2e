// @ts-check
/** The graph on the screen: built once for each topology, then kept up to date. It knows a run's graph, and no turn. */

import { FILLED_ICONS, html, ICONS, setText, svg } from "./dom.js";
import { layoutOf } from "./layout.js";
import { round } from "./routes.js";
import { activityOf, edgeKey, isTerminal, takenEdges } from "./run_graph.js";
import { edgeLabel, edgeLine, ghost, markers, nodeShape } from "./shapes.js";
import { duration, fullName, shortName, STATE_WORDS } from "./words.js";
/** @import { Measures } from "./layout.js" */
/** @import { Activity, GraphEdge, GraphNode, RunGraph } from "./run_graph.js" */

/** A node's shape on the screen. shown: what it shows now, to change it only when that changes. @typedef {{ group: Element, shown: string, width: number }} Shape */

/** Sizes are CSS pixels at the drawing's natural size. @type {Measures} */
export const MEASURES = { direction: "right", sizeOf, captionHeight: 15, gap: { layer: 62, node: 26, lane: 17, arc: 22 } };
const MARGIN = 24;
/** A wide graph is drawn this much smaller before it has to be scrolled. */
const MIN_SCALE = 0.8;

/** Wide enough for the name beside the sign. @param {GraphNode} node */
function sizeOf(node) {
  if (isTerminal(node)) return { width: 64, height: 30 };
  return { width: Math.min(200, Math.max(136, shortName(node.name).length * 7.7 + 50)), height: 58 };
}

export class Drawing {
  /** @type {readonly GraphNode[] | undefined} */
  #nodes;
  /** @type {readonly GraphEdge[] | undefined} */
  #edges;
  /** @type {Map<string, Shape>} */
  #shapes = new Map();
  /** @type {Map<string, Element>} */
  #lines = new Map();
  #size = { width: 1, height: 1 };
  #description = svg("desc", { id: "drawing-description" });

  /** @param {HTMLElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
  }

  /** @param {RunGraph} graph @param {boolean} live whether the turn goes on @param {number} now by the server's clock, in milliseconds */
  show(graph, live, now) {
    if (graph.nodes !== this.#nodes || graph.edges !== this.#edges) this.#build(graph);
    const taken = takenEdges(graph);
    for (const [key, line] of this.#lines) {
      line.toggleAttribute("data-taken", taken.has(key));
      line.setAttribute("marker-end", taken.has(key) ? "url(#tip-on)" : "url(#tip)");
    }
    const activities = new Map([...this.#shapes.keys()].map((id) => [id, activityOf(graph, id)]));
    const longestMs = Math.max(1, ...[...activities.values()].map(({ totalMs }) => totalMs));
    for (const [id, shape] of this.#shapes) {
      const activity = activities.get(id);
      if (activity !== undefined) light(shape, activity, live, longestMs, now);
    }
    const told = [...activities].map(([id, activity]) => `${fullName(id)}: ${wordsOf(activity, live)}`);
    setText(this.#description, `${told.join("; ")}.`);
  }

  /** As wide as its place, but never so small that it cannot be read. */
  fit() {
    const drawn = this.canvas.querySelector("svg[role]");
    if (drawn === null) return;
    const scale = Math.max(MIN_SCALE, Math.min(1, this.canvas.clientWidth / this.#size.width));
    drawn.setAttribute("width", String(round(this.#size.width * scale)));
    drawn.setAttribute("height", String(round(this.#size.height * scale)));
  }

  /** Draw nothing, and say why. @param {string} title @param {string} words */
  empty(title, words) {
    [this.#nodes, this.#edges] = [undefined, undefined];
    this.canvas.replaceChildren(html("div", { class: "empty" }, ghost(), html("strong", {}, title), html("span", {}, words)));
  }

  /** Bring a node into view where the drawing is wider than the screen. @param {string} id */
  reveal(id) {
    const shape = this.#shapes.get(id)?.group.getBoundingClientRect();
    const { left, right, width } = this.canvas.getBoundingClientRect();
    if (shape === undefined || (shape.left >= left + 8 && shape.right <= right - 8)) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.canvas.scrollBy({ left: shape.left + shape.width / 2 - left - width / 2, behavior: calm ? "auto" : "smooth" });
  }

  /** @param {RunGraph} graph */
  #build({ nodes, edges }) {
    [this.#nodes, this.#edges] = [nodes, edges];
    const layout = layoutOf(nodes, edges, MEASURES);
    const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
    this.#size = { width, height };
    this.#lines = new Map(layout.edges.map((edge) => [edgeKey(edge.source, edge.target), edgeLine(edge)]));
    this.#shapes = new Map(layout.nodes.map((node) => [node.id, { group: nodeShape(node), shown: "", width: node.width }]));
    const drawn = svg(
      "svg",
      { role: "img", "aria-labelledby": "drawing-title", "aria-describedby": "drawing-description", viewBox: `${-MARGIN} ${-MARGIN} ${width} ${height}` },
      svg("title", { id: "drawing-title" }, "The agent as a graph, from left to right"),
      this.#description,
      markers(),
      ...this.#lines.values(),
      ...layout.edges.flatMap((edge) => (edge.label === "" ? [] : [edgeLabel(edge)])),
      ...[...this.#shapes.values()].map(({ group }) => group),
    );
    this.canvas.replaceChildren(drawn);
    this.fit();
    this.canvas.scrollTo({ left: 0, behavior: "instant" }); // A smooth way to where the turn before ended may still be going on.
  }
}

/**
 * Show what a node does.
 * @param {Shape} shape
 * @param {Activity} activity
 * @param {boolean} live
 * @param {number} longestMs the longest time of all nodes; the bars are in proportion to it
 * @param {number} now
 */
function light(shape, { state, visits, totalMs, since }, live, longestMs, now) {
  const ms = since === undefined ? totalMs : totalMs + Math.max(0, now - since);
  const told = toldOf(state, visits, ms, live);
  const share = visits === 0 ? 0 : Math.max(0.03, Math.min(1, ms / Math.max(longestMs, ms)));
  const shown = `${state} ${visits} ${told} ${share}`;
  if (shown === shape.shown) return;
  shape.shown = shown;
  const { group } = shape;
  group.setAttribute("data-state", state);
  group.setAttribute("data-visits", String(visits));
  const sign = group.querySelector(".sign");
  sign?.setAttribute("d", ICONS[state]);
  sign?.toggleAttribute("data-filled", FILLED_ICONS.has(state));
  setText(group.querySelector(".told"), told);
  group.querySelector(".took")?.setAttribute("width", String(round((shape.width - 24) * share)));
  setText(group.querySelector(".visits-text"), visits > 1 ? `${visits}×` : "");
  group.querySelector(".badge")?.setAttribute("visibility", visits > 1 ? "visible" : "hidden");
}

/** The words in a node. @param {Activity["state"]} state @param {number} visits @param {number} ms @param {boolean} live */
function toldOf(state, visits, ms, live) {
  if (state === "idle") return live ? "waiting" : STATE_WORDS.idle;
  if (state === "skipped" || state === "interrupted" || visits === 0) return STATE_WORDS[state];
  return state === "ok" ? duration(ms) : `${STATE_WORDS[state]} · ${duration(ms)}`;
}

/** The words of the drawing's description. @param {Activity} activity @param {boolean} live */
function wordsOf({ state, visits, totalMs }, live) {
  if (state === "idle") return live ? "waiting" : STATE_WORDS.idle;
  const times = visits > 1 ? `, ${visits} times` : "";
  return visits === 0 || state === "running" ? `${STATE_WORDS[state]}${times}` : `${STATE_WORDS[state]}${times}, ${duration(totalMs)}`;
}
