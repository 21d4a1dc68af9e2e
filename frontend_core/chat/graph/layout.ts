/** Where the nodes and edges of a graph are drawn: in layers from the start downwards. Pure; units are those of the drawing. */

import type { GraphEdge, GraphNode } from "./runGraph";

interface Size {
  readonly width: number;
  readonly height: number;
}

const NODE: Size = { width: 132, height: 40 };
/** Where a graph begins and ends is not a node of the agent's, and smaller. */
const END: Size = { width: 72, height: 28 };
/** LangGraph's names for these. */
const END_NAMES: ReadonlySet<string> = new Set(["__start__", "__end__"]);
const GAP = { x: 20, y: 34 } as const;
/** Room beside the layers for edges that lead back up. */
const LANE = 22;
/** The longest ways of a dense graph are too many to walk; past this the drawing is less tidy, and still whole. */
const MOST_STEPS = 20_000;

export interface PlacedNode extends GraphNode {
  /** The centre. */
  readonly x: number;
  readonly y: number;
  readonly size: Size;
  readonly isEnd: boolean;
}

export interface PlacedEdge extends GraphEdge {
  readonly path: string;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

/** Nodes that are drawn: the innermost ones, and those that contain no others. */
export function layoutOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Layout {
  const parents = new Set(nodes.map(({ parent }) => parent));
  const drawn = nodes.filter(({ id }) => !parents.has(id));
  const ids = new Set(drawn.map(({ id }) => id));
  const kept = edges.filter(({ source, target }) => ids.has(source) && ids.has(target));
  const layers = layersOf(drawn, kept);
  const widest = Math.max(1, ...layers.map((layer) => layer.length));
  const back = kept.filter(({ source, target }) => depth(layers, target) <= depth(layers, source));
  const side = back.length > 0 ? LANE * 2 : 0;
  const width = widest * NODE.width + (widest - 1) * GAP.x + side * 2;
  const height = Math.max(1, layers.length) * NODE.height + Math.max(0, layers.length - 1) * GAP.y;
  const placed = new Map<string, PlacedNode>();
  layers.forEach((layer, row) => {
    const span = layer.length * NODE.width + (layer.length - 1) * GAP.x;
    layer.forEach((node, column) => {
      const x = (width - span) / 2 + column * (NODE.width + GAP.x) + NODE.width / 2;
      const isEnd = END_NAMES.has(node.name);
      placed.set(node.id, { ...node, x, y: row * (NODE.height + GAP.y) + NODE.height / 2, size: isEnd ? END : NODE, isEnd });
    });
  });
  const paths = kept.flatMap((edge): PlacedEdge[] => {
    const from = placed.get(edge.source);
    const to = placed.get(edge.target);
    return from === undefined || to === undefined ? [] : [{ ...edge, path: pathOf(from, to) }];
  });
  return { width, height, nodes: [...placed.values()], edges: paths };
}

/** By the longest way from a node without predecessors; an edge that would lead back to one of them counts for nothing. */
function layersOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): readonly (readonly GraphNode[])[] {
  const next = new Map(nodes.map(({ id }) => [id, edges.filter(({ source }) => source === id).map(({ target }) => target)]));
  const entered = new Set(edges.filter(({ source, target }) => source !== target).map(({ target }) => target));
  const level = new Map<string, number>();
  let steps = MOST_STEPS;
  const visit = (id: string, at: number, above: ReadonlySet<string>): void => {
    if (above.has(id) || (level.get(id) ?? -1) >= at || steps-- <= 0) return;
    level.set(id, at);
    for (const target of next.get(id) ?? []) visit(target, at + 1, new Set(above).add(id));
  };
  for (const { id } of nodes) if (!entered.has(id)) visit(id, 0, new Set());
  for (const { id } of nodes) if (!level.has(id)) visit(id, 0, new Set());
  // What ends the graph stands below everything, whatever the shortest way to it.
  const deepest = Math.max(0, ...level.values());
  const last = nodes.filter(({ id }) => (next.get(id) ?? []).length === 0 && entered.has(id));
  const crowded = nodes.some(({ id }) => level.get(id) === deepest && !last.some((one) => one.id === id));
  for (const { id } of last) level.set(id, deepest + (crowded ? 1 : 0));
  const rows = Array.from({ length: Math.max(0, ...level.values()) + 1 }, (_, row) => nodes.filter(({ id }) => level.get(id) === row));
  return rows.filter((row) => row.length > 0);
}

function depth(layers: readonly (readonly GraphNode[])[], id: string): number {
  return layers.findIndex((layer) => layer.some((node) => node.id === id));
}

function pathOf(from: PlacedNode, to: PlacedNode): string {
  if (to.y > from.y) {
    const start = from.y + from.size.height / 2;
    const end = to.y - to.size.height / 2;
    const isNext = to.y - from.y <= NODE.height + GAP.y + 1;
    if (isNext) return `M${from.x} ${start}C${from.x} ${(start + end) / 2} ${to.x} ${(start + end) / 2} ${to.x} ${end}`;
    // Past other layers: out to the left and round them.
    const [left, right] = [from.x - from.size.width / 2, to.x - to.size.width / 2];
    const lane = Math.min(from.x, to.x) - NODE.width / 2 - LANE;
    return `M${left} ${from.y}C${lane} ${from.y} ${lane} ${to.y} ${right} ${to.y}`;
  }
  const loop = from.id === to.id;
  const lane = Math.max(from.x, to.x) + NODE.width / 2 + LANE * (loop ? 0.8 : 1);
  const tilt = loop ? from.size.height * 0.3 : 0;
  const [start, end] = [from.x + from.size.width / 2, to.x + to.size.width / 2];
  return `M${start} ${from.y + tilt}C${lane} ${from.y + tilt} ${lane} ${to.y - tilt} ${end} ${to.y - tilt}`;
}
