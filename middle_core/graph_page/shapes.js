// @ts-check
/** The parts of the drawing as SVG elements, as they are before anything has run. */

import { ICONS, svg } from "./dom.js";
import { fullName, shortName } from "./words.js";
/** @import { PlacedEdge, PlacedNode } from "./layout.js" */

const MAX_LABEL = 16;

/** @param {PlacedEdge} edge */
export function edgeLine({ source, target, conditional, path, kind }) {
  return svg("path", {
    class: "edge",
    d: path,
    "data-source": source,
    "data-target": target,
    "data-conditional": conditional,
    "data-kind": kind,
    "marker-start": conditional ? "url(#fork)" : undefined,
    "marker-end": "url(#tip)",
  });
}

/** @param {PlacedEdge} edge */
export function edgeLabel({ label, labelX, labelY }) {
  return svg("text", { class: "edge-label", x: labelX, y: labelY + 3 }, label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label);
}

/** The arrowheads of edges, and the diamond where a conditional edge begins. */
export function markers() {
  return svg("defs", {}, tip("tip", ""), tip("tip-on", "on"), fork());
}

/** @param {string} id @param {string} look */
function tip(id, look) {
  return svg(
    "marker",
    { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { d: "M0 .5 7.5 4 0 7.5z", class: `tip ${look}` }),
  );
}

function fork() {
  return svg(
    "marker",
    { id: "fork", viewBox: "0 0 10 10", refX: 1, refY: 5, markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { d: "M1 5 5 1.6 9 5 5 8.4z", class: "fork" }),
  );
}

/** A node with its sign, name, state in words, bar of time, and number of visits. @param {PlacedNode} node */
export function nodeShape({ id, name, parent, x, y, width, height, isTerminal }) {
  const [left, top] = [-width / 2, -height / 2];
  const box = { x: left, y: top, width, height, rx: isTerminal ? height / 2 : 11 };
  const group = svg("g", { class: "node", "data-node": id, "data-state": "idle", "data-end": isTerminal, transform: `translate(${x} ${y})` });
  group.append(svg("title", {}, fullName(id)), svg("rect", { class: "box", ...box }));
  if (isTerminal) {
    group.append(svg("text", { class: "name", y: 4 }, shortName(name)));
    return group;
  }
  const bar = { x: left + 12, y: top + height - 10, height: 4, rx: 2 };
  group.append(
    svg("rect", { class: "halo", ...box }),
    svg("path", { class: "sign", d: ICONS.idle, transform: `translate(${left + 11} ${top + 10}) scale(0.95)` }),
    svg("text", { class: "name", x: left + 33, y: top + 22.5 }, shortName(name)),
    svg("text", { class: "told", x: left + 33, y: top + 39 }),
    svg("rect", { class: "track", width: width - 24, ...bar }),
    svg("rect", { class: "took", width: 0, ...bar }),
    svg(
      "g",
      { class: "badge", visibility: "hidden" },
      svg("rect", { class: "visits", x: -left - 24, y: top - 9, width: 30, height: 18, rx: 9 }),
      svg("text", { class: "visits-text", x: -left - 9, y: top + 4 }),
    ),
  );
  if (parent !== "") group.append(svg("text", { class: "inside", x: left + 2, y: top - 5 }, `in ${shortName(parent)}`));
  return group;
}

/** A sketch of a graph, for where nothing is drawn yet. */
export function ghost() {
  const boxes = [4, 84, 204].map((x, index) => svg("rect", { class: "ghost", x, y: index === 0 ? 26 : 16, width: index === 0 ? 44 : 84, height: index === 0 ? 24 : 44, rx: 10 }));
  const lines = ["M48 38H80", "M168 38H200", "M246 60V78H126V60"].map((d, index) => svg("path", { class: "ghost", d, "stroke-dasharray": index > 0 ? "4 4" : undefined }));
  return svg("svg", { viewBox: "0 0 292 84", "aria-hidden": "true" }, ...boxes, ...lines);
}
