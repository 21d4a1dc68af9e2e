// @ts-check
/**
 * The first half of a layered drawing (Sugiyama's method): in which layer each node stands, and in which order within it. Pure.
 *
 * It knows no coordinates. Those are `layout.js`.
 */

import { END } from "./run_graph.js";
/** @import { GraphEdge, GraphNode } from "./run_graph.js" */

/**
 * A vertex of a layer: a node, or a dummy (node undefined), which is where a long edge passes through a layer.
 * order: its place within the layer. incoming, outgoing: its neighbours in the layers before and after.
 * @typedef {{ node: GraphNode | undefined, layer: number, order: number, incoming: Vertex[], outgoing: Vertex[] }} Vertex
 */
/**
 * vertices: those of nodes, by the node's id. chains: for each edge that leads forward its vertices from source to target, with
 * one in each layer. An edge without a chain closes a cycle.
 * @typedef {{ layers: Vertex[][], vertices: ReadonlyMap<string, Vertex>, chains: ReadonlyMap<GraphEdge, readonly Vertex[]> }} Layered
 */

/** More sweeps hardly ever remove another crossing. */
const SWEEPS = 12;

/**
 * Each node behind all that lead to it, in an order with few crossings.
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges between these nodes only
 * @returns {Layered}
 */
export function layered(nodes, edges) {
  const forward = withoutCycles(nodes, edges);
  const layerOf = layersOf(nodes, forward);
  const vertices = new Map(nodes.map((node) => [node.id, vertex(node, layerOf.get(node.id) ?? 0)]));
  const all = [...vertices.values()];
  /** @type {Map<GraphEdge, readonly Vertex[]>} */
  const chains = new Map();
  for (const edge of forward) {
    const chain = chainOf(edge, vertices);
    chains.set(edge, chain);
    all.push(...chain.slice(1, -1));
    chain.forEach((one, index) => {
      const next = chain[index + 1];
      if (next === undefined) return;
      one.outgoing.push(next);
      next.incoming.push(one);
    });
  }
  const count = Math.max(0, ...all.map(({ layer }) => layer)) + 1;
  const layers = Array.from({ length: count }, (_, index) => all.filter(({ layer }) => layer === index));
  return { layers: untangled(layers), vertices, chains };
}

/** @param {GraphNode | undefined} node @param {number} layer @returns {Vertex} */
function vertex(node, layer) {
  return { node, layer, order: 0, incoming: [], outgoing: [] };
}

/**
 * The edges without those that close a cycle. A walk from the start finds them.
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges
 * @returns {readonly GraphEdge[]}
 */
function withoutCycles(nodes, edges) {
  const entered = new Set(edges.filter(({ source, target }) => source !== target).map(({ target }) => target));
  /** @type {Map<string, "open" | "done">} */
  const seen = new Map();
  /** @type {Set<GraphEdge>} */
  const back = new Set();
  /** @param {string} id */
  const visit = (id) => {
    seen.set(id, "open");
    for (const edge of edges) {
      if (edge.source !== id) continue;
      if (seen.get(edge.target) === "open") back.add(edge);
      else if (!seen.has(edge.target)) visit(edge.target);
    }
    seen.set(id, "done");
  };
  const roots = [...nodes.filter(({ id }) => !entered.has(id)), ...nodes];
  for (const { id } of roots) if (!seen.has(id)) visit(id);
  return edges.filter((edge) => !back.has(edge));
}

/**
 * Each node's layer: the length of the longest way to it. The end of the whole graph stands behind everything.
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges without cycles
 * @returns {ReadonlyMap<string, number>}
 */
function layersOf(nodes, edges) {
  const layers = new Map(nodes.map(({ id }) => [id, 0]));
  const waiting = new Map(nodes.map(({ id }) => [id, edges.filter(({ target }) => target === id).length]));
  const ready = nodes.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id);
  for (const id of ready) {
    for (const { source, target } of edges) {
      if (source !== id) continue;
      layers.set(target, Math.max(layers.get(target) ?? 0, (layers.get(id) ?? 0) + 1));
      const left = (waiting.get(target) ?? 0) - 1;
      waiting.set(target, left);
      if (left === 0) ready.push(target);
    }
  }
  /** @param {GraphNode} node */
  const isLast = ({ name, parent }) => name === END && parent === "";
  const behindAll = Math.max(0, ...nodes.filter((node) => !isLast(node)).map(({ id }) => (layers.get(id) ?? 0) + 1));
  for (const node of nodes) if (isLast(node)) layers.set(node.id, behindAll);
  return layers;
}

/**
 * The vertices of an edge, with a dummy in each layer between.
 * @param {GraphEdge} edge
 * @param {ReadonlyMap<string, Vertex>} vertices
 * @returns {readonly Vertex[]}
 */
function chainOf({ source, target }, vertices) {
  const [from, to] = [vertices.get(source), vertices.get(target)];
  if (from === undefined || to === undefined) return [];
  const dummies = Array.from({ length: to.layer - from.layer - 1 }, (_, index) => vertex(undefined, from.layer + index + 1));
  return [from, ...dummies, to];
}

/**
 * The layers in an order in which few edges cross: each vertex near the middle of its neighbours (the barycenter heuristic).
 * The best order of all sweeps is kept.
 * @param {Vertex[][]} layers
 * @returns {Vertex[][]}
 */
function untangled(layers) {
  number(layers);
  let best = layers.map((layer) => [...layer]);
  let least = crossings(layers);
  for (let sweep = 0; sweep < SWEEPS && least > 0; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      /** @param {Vertex} one */
      const wanted = ({ incoming, outgoing, order }) => mean((down ? incoming : outgoing).map((near) => near.order)) ?? order;
      const places = new Map(layer.map((one) => [one, wanted(one)]));
      layer.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
      number([layer]);
    }
    const now = crossings(layers);
    if (now < least) [best, least] = [layers.map((layer) => [...layer]), now];
  }
  number(best);
  return best;
}

/** @param {readonly Vertex[][]} layers */
function number(layers) {
  for (const layer of layers) layer.forEach((one, order) => (one.order = order));
}

/** @param {readonly number[]} values */
function mean(values) {
  return values.length === 0 ? undefined : values.reduce((sum, one) => sum + one, 0) / values.length;
}

/** How many edges cross, by the order of their ends. @param {readonly Vertex[][]} layers */
function crossings(layers) {
  let count = 0;
  for (const layer of layers) {
    layer.forEach(({ outgoing }, index) => {
      for (const later of layer.slice(index + 1)) for (const a of outgoing) for (const b of later.outgoing) if (b.order < a.order) count += 1;
    });
  }
  return count;
}
