import { describe, expect, it } from "vitest";
import { type Layout, layoutOf, type Measures, type PlacedNode } from "../../middle_core/graph_page/layout.js";
import { type GraphEdge, type GraphNode, isTerminal } from "../../middle_core/graph_page/run_graph.js";
import { seeded } from "./random";

const nodesOf = (...ids: string[]): GraphNode[] => ids.map((id) => ({ id, name: id.split(":").at(-1) ?? id, parent: id.split(":").slice(0, -1).join(":") }));
const edgesOf = (...pairs: (readonly [string, string, boolean?])[]): GraphEdge[] => pairs.map(([source, target, conditional = false]) => ({ source, target, conditional, label: "" }));

const gap = { layer: 62, node: 26, lane: 17, arc: 22 };
const RIGHT: Measures = { direction: "right", sizeOf: (node) => ({ width: isTerminal(node) ? 64 : 60 + 6 * node.name.length, height: isTerminal(node) ? 30 : 58 }), captionHeight: 15, gap };
const DOWN: Measures = { ...RIGHT, direction: "down" };

function nodeOf({ nodes }: Layout, id: string): PlacedNode {
  const found = nodes.find((node) => node.id === id);
  if (found === undefined) throw new Error(`${id} is not drawn`);
  return found;
}

/** Whatever the graph: everything is in the picture, and no node lies on another. */
function sound(layout: Layout, nodes: number, edges: number): void {
  expect(layout.nodes).toHaveLength(nodes);
  expect(layout.edges).toHaveLength(edges);
  for (const { x, y, width, height } of layout.nodes) {
    expect(x - width / 2).toBeGreaterThanOrEqual(-0.2);
    expect(x + width / 2).toBeLessThanOrEqual(layout.width + 0.2);
    expect(y - height / 2).toBeGreaterThanOrEqual(-0.2);
    expect(y + height / 2).toBeLessThanOrEqual(layout.height + 0.2);
  }
  layout.nodes.forEach((a, at) => {
    for (const b of layout.nodes.slice(at + 1)) {
      const apart = Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2;
      expect(apart, `${a.id} and ${b.id}`).toBe(true);
    }
  });
  for (const { path } of layout.edges) expect(path).toMatch(/^M[-\d. ]+[CL]/);
  for (const { path } of layout.edges) expect(path).not.toContain("NaN");
}

describe("layoutOf", () => {
  it("stands from left to right, with the way back below", () => {
    const layout = layoutOf(
      nodesOf("__start__", "agent", "tools", "__end__"),
      edgesOf(["__start__", "agent"], ["agent", "tools", true], ["agent", "__end__", true], ["tools", "agent", true], ["tools", "__end__", true]),
      RIGHT,
    );
    sound(layout, 4, 5);
    expect(layout.nodes.map(({ layer }) => layer)).toEqual([0, 1, 2, 3]);
    expect(layout.edges.map(({ kind }) => kind)).toEqual(["forward", "forward", "forward", "back", "forward"]);
    expect(layout.nodes.map(({ isTerminal }) => isTerminal)).toEqual([true, false, false, true]);
  });

  it("puts a node behind the longest way to it, and the end behind everything", () => {
    const layout = layoutOf(nodesOf("__end__", "c", "b", "a", "__start__"), edgesOf(["__start__", "a"], ["a", "b"], ["b", "c"], ["a", "c"], ["a", "__end__"]), RIGHT);
    sound(layout, 5, 5);
    expect(["__start__", "a", "b", "c", "__end__"].map((id) => nodeOf(layout, id).layer)).toEqual([0, 1, 2, 3, 4]);
  });

  it("keeps branches side by side and their order free of crossings", () => {
    const layout = layoutOf(
      nodesOf("__start__", "a", "b", "c", "b2", "a2", "c2", "__end__"),
      edgesOf(["__start__", "a"], ["__start__", "b"], ["__start__", "c"], ["b", "b2"], ["a", "a2"], ["c", "c2"], ["a2", "__end__"], ["b2", "__end__"], ["c2", "__end__"]),
      RIGHT,
    );
    sound(layout, 8, 9);
    const order = (...ids: string[]) => ids.toSorted((a, b) => nodeOf(layout, a).y - nodeOf(layout, b).y);
    expect(order("a2", "b2", "c2")).toEqual(order("a", "b", "c").map((id) => `${id}2`));
    expect(nodeOf(layout, "__start__").y).toBeCloseTo(nodeOf(layout, "__end__").y, 0);
  });

  it("keeps a straight line straight", () => {
    const layout = layoutOf(nodesOf("__start__", "a", "b", "__end__"), edgesOf(["__start__", "a"], ["a", "b"], ["b", "__end__"]), RIGHT);
    expect(new Set(layout.nodes.map(({ y }) => y)).size).toBe(1);
  });

  it("leads a long edge past the nodes between", () => {
    const layout = layoutOf(nodesOf("__start__", "a", "b", "c", "__end__"), edgesOf(["__start__", "a"], ["a", "b"], ["b", "c"], ["a", "c"], ["c", "__end__"]), RIGHT);
    const long = layout.edges.find(({ source, target }) => source === "a" && target === "c");
    const b = nodeOf(layout, "b");
    // Where it passes b's layer it runs level, at the height that stands before the L.
    const level = /C[-\d. ]+ ([-\d.]+)L/.exec(long?.path ?? "");
    expect(Math.abs(Number(level?.[1]) - b.y)).toBeGreaterThan(b.height / 2);
  });

  it("draws a node that leads to itself, and two that lead to each other", () => {
    const layout = layoutOf(nodesOf("__start__", "a", "b"), edgesOf(["__start__", "a"], ["a", "a"], ["a", "b"], ["b", "a"]), RIGHT);
    sound(layout, 3, 4);
    expect(layout.edges.map(({ kind }) => kind)).toEqual(["forward", "self", "forward", "back"]);
  });

  it("gives arcs back that overlap lanes of their own", () => {
    const layout = layoutOf(nodesOf("__start__", "a", "b", "c", "d"), edgesOf(["__start__", "a"], ["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["c", "b"], ["d", "b"]), RIGHT);
    const lanes = layout.edges.filter(({ kind }) => kind === "back").map(({ labelY }) => labelY);
    expect(new Set(lanes).size).toBe(3);
  });

  it("draws what is inside a subgraph and not its frame; islands and edges to nowhere too", () => {
    const layout = layoutOf(nodesOf("__start__", "outer", "outer:in", "outer:out", "alone"), edgesOf(["__start__", "outer:in"], ["outer:in", "outer:out"], ["outer:out", "nowhere"]), RIGHT);
    sound(layout, 4, 2);
    expect(nodeOf(layout, "outer:in").parent).toBe("outer");
  });

  it("takes nothing at all", () => {
    expect(layoutOf([], [], RIGHT)).toMatchObject({ nodes: [], edges: [] });
  });

  it("is the same picture from the top down as from left to right", () => {
    const [ids, edges] = [["__start__", "a", "b", "c", "__end__"], edgesOf(["__start__", "a"], ["a", "b"], ["b", "a"], ["b", "b"], ["a", "c"], ["b", "c"], ["c", "__end__"])];
    const square: Measures = { ...RIGHT, sizeOf: () => ({ width: 50, height: 50 }) };
    const right = layoutOf(nodesOf(...ids), edges, square);
    const down = layoutOf(nodesOf(...ids), edges, { ...square, direction: "down" });
    expect([down.width, down.height]).toEqual([right.height, right.width]);
    expect(down.nodes.map(({ x, y }) => [x, y])).toEqual(right.nodes.map(({ x, y }) => [y, x]));
    expect(down.edges.map(({ labelX, labelY }) => [labelX, labelY])).toEqual(right.edges.map(({ labelX, labelY }) => [labelY, labelX]));
    const turned = (path: string) => path.replaceAll(/([-\d.]+) ([-\d.]+)/g, "$2 $1");
    expect(down.edges.map(({ path }) => path)).toEqual(right.edges.map(({ path }) => turned(path)));
  });

  it.each([RIGHT, DOWN])("is sound for whatever graph: cycles, dense ones, 20 nodes and more ($direction)", (measures) => {
    for (let seed = 0; seed < 150; seed += 1) {
      const random = seeded(seed);
      const count = 2 + Math.floor(random() * 24);
      const ids = ["__start__", ...Array.from({ length: count }, (_, at) => `node_${at}${"x".repeat(Math.floor(random() * 14))}`), "__end__"];
      const pairs = new Map<string, readonly [string, string, boolean]>();
      for (let edge = 0; edge < count * (1 + random() * 2); edge += 1) {
        const source = ids[Math.floor(random() * (ids.length - 1))] ?? "";
        const target = ids[1 + Math.floor(random() * (ids.length - 1))] ?? "";
        pairs.set(`${source}>${target}`, [source, target, random() < 0.4]);
      }
      const layout = layoutOf(nodesOf(...ids), edgesOf(...pairs.values()), measures);
      sound(layout, ids.length, pairs.size);
      const layer = new Map(layout.nodes.map((node) => [node.id, node.layer]));
      for (const { source, target, kind } of layout.edges) {
        if (kind === "forward") expect(layer.get(target), `seed ${seed}: ${source} > ${target}`).toBeGreaterThan(layer.get(source) ?? 0);
        if (kind === "self") expect(source).toBe(target);
      }
      expect(Math.max(...layer.values())).toBe(layer.get("__end__"));
    }
  });

  it("is quick for a large graph", () => {
    const ids = Array.from({ length: 120 }, (_, at) => `n${at}`);
    const random = seeded(7);
    const pairs = Array.from({ length: 400 }, () => [ids[Math.floor(random() * 120)] ?? "", ids[Math.floor(random() * 120)] ?? ""] as const);
    const began = performance.now();
    layoutOf(nodesOf(...ids), edgesOf(...pairs), RIGHT);
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});
