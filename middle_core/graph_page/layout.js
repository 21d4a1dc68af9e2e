// @ts-check
/**
 * Where the nodes and edges of a graph are drawn: the one layout, for this page (from left to right) and for the panel beside
 * the chat (from the top down). Pure.
 *
 * All is computed along the flow and across it, and turned into x and y at the end. Which node stands in which layer is
 * `layers.js`, and the lines of the edges are `routes.js`. Sizes and distances are the caller's; the unit is the drawing's.
 */

import { layered } from "./layers.js";
import { backRoute, forwardRoute, LOOP_HEIGHT, round, selfRoute } from "./routes.js";
import { isTerminal } from "./run_graph.js";
/** @import { Layered, Vertex } from "./layers.js" */
/** @import { Box, Layer, Route } from "./routes.js" */
/** @import { GraphEdge, GraphNode } from "./run_graph.js" */

/**
 * How a drawing is measured. captionHeight: room for words above a node that is inside another one.
 * gap.layer: between two layers. gap.node: between two nodes of a layer. gap.lane: between two arcs back.
 * gap.arc: from the nodes to the first arc back.
 * @typedef {{ direction: "right" | "down", sizeOf: (node: GraphNode) => { width: number, height: number }, captionHeight: number,
 *   gap: { layer: number, node: number, lane: number, arc: number } }} Measures
 */
/**
 * x, y: the centre. isTerminal: whether the graph begins or ends there.
 * @typedef {GraphNode & { x: number, y: number, width: number, height: number, layer: number, isTerminal: boolean }} PlacedNode
 * @typedef {GraphEdge & { path: string, kind: "forward" | "back" | "self", labelX: number, labelY: number }} PlacedEdge
 * @typedef {{ width: number, height: number, nodes: PlacedNode[], edges: PlacedEdge[] }} Layout
 */
/**
 * A vertex with its sizes. length: along the flow. before, after: room that it needs on both sides of its middle, across the flow.
 * middle: where that middle is.
 * @typedef {{ length: number, before: number, after: number, middle: number }} Extent
 * @typedef {ReadonlyMap<Vertex, Extent>} Extents
 */

/** Room for an edge that passes through a layer. */
const PASSING = 12;
const SWEEPS = 12;
/** A node counts for more than an edge that passes, so that the main way stays straight. */
const NODE_WEIGHT = 8;

/**
 * Drawn are the nodes that contain no others, and the edges between them. An edge that closes a cycle is an arc beside the layers.
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges
 * @param {Measures} measures
 * @returns {Layout}
 */
export function layoutOf(nodes, edges, measures) {
  const parents = new Set(nodes.map(({ parent }) => parent));
  const drawn = nodes.filter(({ id }) => !parents.has(id));
  const ids = new Set(drawn.map(({ id }) => id));
  const kept = edges.filter(({ source, target }) => ids.has(source) && ids.has(target));
  const graph = layered(drawn, kept);
  const loops = new Set(kept.filter(({ source, target }) => source === target).map(({ source }) => source));
  const extents = new Map(graph.layers.flat().map((vertex) => [vertex, extentOf(vertex, loops, measures)]));
  align(graph.layers, extents, measures.gap.node);
  return placed(drawn, kept, graph, extents, measures);
}

/** @param {Measures} measures @param {GraphNode} node the node's size along the flow and across it */
function flowSize({ direction, sizeOf }, node) {
  const { width, height } = sizeOf(node);
  return direction === "right" ? { length: width, breadth: height } : { length: height, breadth: width };
}

/** @param {Vertex} vertex @param {ReadonlySet<string>} loops ids of nodes that lead to themselves @param {Measures} measures @returns {Extent} */
function extentOf({ node }, loops, measures) {
  if (node === undefined) return { length: 0, before: PASSING / 2, after: PASSING / 2, middle: 0 };
  const { length, breadth } = flowSize(measures, node);
  const above = loops.has(node.id) ? LOOP_HEIGHT : node.parent === "" ? 0 : measures.captionHeight;
  return { length, before: breadth / 2 + above, after: breadth / 2, middle: 0 };
}

/**
 * The middles within each layer: near those of the neighbours, in order, without overlaps.
 * @param {readonly Vertex[][]} layers
 * @param {Extents} extents
 * @param {number} gap between two nodes
 */
function align(layers, extents, gap) {
  for (const layer of layers) spread(layer, layer.map(() => 0), extents, gap);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      const wanted = layer.map((vertex) => {
        const near = down && sweep < SWEEPS - 2 ? vertex.incoming : [...vertex.incoming, ...vertex.outgoing];
        const weights = near.reduce((sum, one) => sum + weightOf(one), 0);
        const middle = near.reduce((sum, one) => sum + (extents.get(one)?.middle ?? 0) * weightOf(one), 0) / weights;
        return near.length > 0 ? middle : (extents.get(vertex)?.middle ?? 0);
      });
      spread(layer, wanted, extents, gap);
    }
  }
}

/** @param {Vertex} vertex */
function weightOf({ node }) {
  return node === undefined ? 1 : NODE_WEIGHT;
}

/**
 * As near to the wanted middles as the distances allow: pushed on from the first to the last, then all moved back by what was
 * added on average.
 * @param {readonly Vertex[]} layer
 * @param {readonly number[]} wanted
 * @param {Extents} extents
 * @param {number} gap
 */
function spread(layer, wanted, extents, gap) {
  let least = -Infinity;
  let [moved, weights] = [0, 0];
  layer.forEach((vertex, index) => {
    const extent = extents.get(vertex);
    if (extent === undefined) return;
    const want = wanted[index] ?? 0;
    const next = layer[index + 1];
    extent.middle = Math.max(want, least + extent.before);
    moved += (extent.middle - want) * weightOf(vertex);
    weights += weightOf(vertex);
    const bothPass = vertex.node === undefined && next !== undefined && next.node === undefined;
    least = extent.middle + extent.after + (bothPass ? 0 : gap);
  });
  for (const vertex of layer) {
    const extent = extents.get(vertex);
    if (extent !== undefined) extent.middle -= moved / weights;
  }
}

/**
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges
 * @param {Layered} graph
 * @param {Extents} extents
 * @param {Measures} measures
 * @returns {Layout}
 */
function placed(nodes, edges, { layers, vertices, chains }, extents, measures) {
  const { gap, direction } = measures;
  const strips = stripsOf(layers, extents, gap.layer);
  const top = Math.min(...[...extents.values()].map(({ middle, before }) => middle - before));
  for (const extent of extents.values()) extent.middle = round(extent.middle - top);
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  for (const [id, vertex] of vertices) {
    const [extent, strip] = [extents.get(vertex), strips[vertex.layer]];
    if (extent === undefined || strip === undefined || vertex.node === undefined) continue;
    const isLast = layers[vertex.layer]?.at(-1) === vertex;
    boxes.set(id, { along: round(strip.start + strip.length / 2), across: extent.middle, ...flowSize(measures, vertex.node), layer: vertex.layer, isLast });
  }
  const bottoms = layers.map((layer) => Math.max(0, ...layer.map((vertex) => bottomOf(extents.get(vertex)))));
  const lanes = lanesOf(edges.filter((edge) => !chains.has(edge) && edge.source !== edge.target), boxes, bottoms, gap);
  /** @param {GraphEdge} edge @param {Box} from @param {Box} to @returns {Route} */
  const routeOf = (edge, from, to) => {
    const chain = chains.get(edge);
    if (chain !== undefined) return forwardRoute(from, to, passedBy(chain, strips, extents), direction);
    return from === to ? selfRoute(from, direction) : backRoute(from, to, lanes.get(edge) ?? 0, gap.layer / 3, direction);
  };
  const length = round(strips.reduce((end, strip) => Math.max(end, strip.start + strip.length), 0));
  const breadth = round(Math.max(0, ...bottoms, ...[...lanes.values()].map((lane) => lane + 6)));
  return {
    ...(direction === "right" ? { width: length, height: breadth } : { width: breadth, height: length }),
    nodes: nodes.flatMap((node) => {
      const box = boxes.get(node.id);
      return box === undefined ? [] : [placedNode(node, box, direction)];
    }),
    edges: edges.flatMap((edge) => {
      const [from, to] = [boxes.get(edge.source), boxes.get(edge.target)];
      return from === undefined || to === undefined ? [] : [{ ...edge, ...routeOf(edge, from, to) }];
    }),
  };
}

/** @param {GraphNode} node @param {Box} box @param {Measures["direction"]} direction @returns {PlacedNode} */
function placedNode(node, { along, across, length, breadth, layer }, direction) {
  const [sizeAlong, sizeAcross] = [round(length), round(breadth)];
  const box = direction === "right" ? { x: along, y: across, width: sizeAlong, height: sizeAcross } : { x: across, y: along, width: sizeAcross, height: sizeAlong };
  return { ...node, ...box, layer, isTerminal: isTerminal(node) };
}

/** @param {Extent | undefined} extent */
function bottomOf(extent) {
  return extent === undefined ? 0 : extent.middle + extent.after;
}

/**
 * Where each layer begins along the flow, and how long it is.
 * @param {readonly Vertex[][]} layers
 * @param {Extents} extents
 * @param {number} gap between two layers
 * @returns {readonly Layer[]}
 */
function stripsOf(layers, extents, gap) {
  let start = 0;
  return layers.map((layer) => {
    const length = Math.max(0, ...layer.map((vertex) => extents.get(vertex)?.length ?? 0));
    const strip = { start, length };
    start += length + gap;
    return strip;
  });
}

/**
 * The layers that an edge passes through, and where it does.
 * @param {readonly Vertex[]} chain
 * @param {readonly Layer[]} strips
 * @param {Extents} extents
 */
function passedBy(chain, strips, extents) {
  return chain.slice(1, -1).flatMap((dummy) => {
    const [extent, strip] = [extents.get(dummy), strips[dummy.layer]];
    return extent === undefined || strip === undefined ? [] : [{ across: extent.middle, ...strip }];
  });
}

/**
 * How far out each arc back runs: beyond all layers that it passes, the short arcs nearer than the long ones.
 * @param {readonly GraphEdge[]} back
 * @param {ReadonlyMap<string, Box>} boxes
 * @param {readonly number[]} bottoms
 * @param {Measures["gap"]} gap
 */
function lanesOf(back, boxes, bottoms, gap) {
  const spans = back.map((edge) => {
    const [a, b] = [boxes.get(edge.source)?.layer ?? 0, boxes.get(edge.target)?.layer ?? 0];
    return { edge, from: Math.min(a, b), to: Math.max(a, b), lane: 0 };
  });
  spans.sort((a, b) => a.to - a.from - (b.to - b.from));
  spans.forEach((span, index) => {
    const beyond = Math.max(...bottoms.slice(span.from, span.to + 1)) + gap.arc;
    const inner = spans.slice(0, index).filter(({ from, to }) => from <= span.to && to >= span.from);
    span.lane = Math.max(beyond, ...inner.map(({ lane }) => lane + gap.lane));
  });
  return new Map(spans.map(({ edge, lane }) => [edge, round(lane)]));
}
