// @ts-check
/**
 * One turn of an agent over `/chat`, drawn as it happens.
 *
 * The pure parts come first and are exported for the tests: frames out of bytes, a turn out of events, a drawing out of
 * a topology, and a reader that goes on where a connection broke. The page itself comes last. It knows the contract of
 * docs/chat.md; it knows no framework, keeps the token in memory only, and writes text as text, never as HTML.
 */

/** @typedef {Record<string, unknown>} Json */

// Frames out of bytes ---------------------------------------------------------------------------------------------

/** Characters of one frame. What is larger is no frame of ours. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** @typedef {{ id: string | undefined, event: string, data: string }} Frame  id: only where the frame itself has one. */

/**
 * Server-sent events, bytes to frames (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * Bytes may be cut anywhere, inside a character and inside CRLF too. A frame that the stream's end cuts off is no frame,
 * and its id does not count.
 */
export class SseParser {
  #decoder = new TextDecoder("utf-8"); // it drops a byte order mark at the very beginning, and only there
  /** @type {string[]} The line so far, in the pieces in which it came. */
  #line = [];
  #afterCr = false;
  /** @type {string[]} */
  #data = [];
  #event = "";
  /** @type {string | undefined} */
  #id = undefined;
  #size = 0;
  /** Milliseconds that the server asks to wait before connecting again; undefined where it did not say. */
  /** @type {number | undefined} */
  retryMs = undefined;

  constructor(most = MOST_CHARACTERS) {
    this.most = most;
  }

  /** The frames that `bytes` complete. @param {Uint8Array} bytes @returns {Frame[]} */
  feed(bytes) {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return [];
    if (this.#afterCr && text.startsWith("\n")) text = text.slice(1);
    this.#afterCr = text === "" ? false : text.endsWith("\r");
    const lines = text.split(/\r\n|\r|\n/);
    const rest = lines.pop() ?? "";
    /** @type {Frame[]} */
    const frames = [];
    for (const end of lines) {
      this.#size += end.length;
      this.#take(this.#line.join("") + end, frames);
      this.#line = [];
    }
    if (rest !== "") this.#line.push(rest);
    this.#size += rest.length;
    if (this.#size > this.most) throw new Error(`An event is larger than ${this.most} characters.`);
    return frames;
  }

  /** @param {string} line @param {Frame[]} frames */
  #take(line, frames) {
    if (line === "") {
      if (this.#data.length > 0) frames.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
      this.#data = [];
      this.#event = "";
      this.#id = undefined;
      this.#size = 0;
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }
}

// A turn out of events --------------------------------------------------------------------------------------------

/** @typedef {"running" | "ok" | "skipped" | "error" | "interrupted" | "cancelled"} Outcome */
/** @typedef {{ id: string, name: string, parent: string }} GraphNode  parent: "" for none. */
/** @typedef {{ source: string, target: string, conditional: boolean, label: string }} GraphEdge */
/**
 * One task of a node. Times in milliseconds; wave: tasks of the same number ran side by side.
 * @typedef {{ id: string, node: string, name: string, startedAt: number, latencyMs: number | undefined, outcome: Outcome, wave: number }} Task
 */
/**
 * What is known of a turn. A turn that paused and was answered is one turn, though it is several runs.
 * @typedef {{
 *   runId: string, threadId: string,
 *   nodes: readonly GraphNode[], edges: readonly GraphEdge[], tasks: readonly Task[],
 *   text: string, messageId: string,
 *   interrupts: readonly Json[], pausedAt: number | undefined, humanWaitMs: number | undefined,
 *   error: Json | undefined, response: Json | undefined,
 * }} Turn
 */

/** @type {Turn} */
export const NEW_TURN = Object.freeze({
  runId: "",
  threadId: "",
  nodes: [],
  edges: [],
  tasks: [],
  text: "",
  messageId: "",
  interrupts: [],
  pausedAt: undefined,
  humanWaitMs: undefined,
  error: undefined,
  response: undefined,
});

/** A turn may loop for long; the drawing needs its newest tasks only. */
const MOST_TASKS = 500;
const MOST_TEXT = 1_000_000;
/** @type {ReadonlySet<string>} */
const OUTCOMES = new Set(["ok", "skipped", "error", "interrupted", "cancelled"]);

/**
 * The turn after one event; the same object where the event says nothing to it. An event that comes twice counts once.
 * @param {Turn} turn
 * @param {Json} event
 * @returns {Turn}
 */
export function advance(turn, event) {
  const known = { ...turn, runId: textIn(event, "run_id") || turn.runId, threadId: textIn(event, "thread_id") || turn.threadId };
  switch (event.type) {
    case "graph_topology":
      return { ...known, nodes: nodesIn(event), edges: edgesIn(event) };
    case "node_started":
    case "node_completed":
      return { ...known, tasks: withTask(turn.tasks, event) };
    case "token":
      return { ...known, ...withText(turn, textIn(event, "message_id"), textIn(event, "delta")) };
    case "paused":
      return { ...known, interrupts: objectsIn(event, "interrupts"), pausedAt: numberIn(event, "at") };
    case "error":
      return { ...known, error: event };
    case "turn_completed":
      return completed(known, isObject(event.response) ? event.response : {}, numberIn(event, "human_wait_ms"));
    default:
      return turn;
  }
}

/** The turn that a person's answer lets go on: what it did so far stays, its questions are no more. @param {Turn} turn @returns {Turn} */
export function answered(turn) {
  return { ...turn, runId: "", text: "", interrupts: [], error: undefined, response: undefined };
}

/**
 * The turn out of the JSON answer alone, where events cannot be had: no edges are in it, so nodes stand in the order in which they began.
 * @param {Json} response
 * @returns {Turn}
 */
export function turnOf(response) {
  /** @type {readonly Task[]} */
  let tasks = [];
  for (const entry of objectsIn(response, "latency")) {
    const outcome = OUTCOMES.has(textIn(entry, "outcome")) ? entry.outcome : "ok";
    tasks = withTask(tasks, { run_id: response.run_id, task_id: `${tasks.length}`, ...entry, type: "node_completed", outcome });
  }
  const left = tasks.filter(({ outcome }) => outcome === "skipped");
  const ran = inWaves(tasks.filter(({ outcome }) => outcome !== "skipped"));
  tasks = [...ran, ...left];
  const ids = [...new Set(tasks.map(({ node }) => node))];
  /** @type {Map<number, string[]>} */
  const waves = new Map([[-1, ["__start__"]]]);
  for (const { wave, node } of ran) waves.set(wave, [...(waves.get(wave) ?? []), node]);
  waves.set(Infinity, ["__end__"]);
  const rows = [...waves.values()];
  const pairs = new Map();
  rows.forEach((row, at) => {
    for (const source of row) for (const target of rows[at + 1] ?? []) pairs.set(`${source}\n${target}`, { source, target, conditional: false, label: "" });
  });
  const known = { ...NEW_TURN, runId: textIn(response, "run_id"), threadId: textIn(response, "thread_id") };
  const nodes = ["__start__", ...ids, "__end__"].map((id) => ({ id, name: id.split(":").at(-1) ?? id, parent: id.split(":").slice(0, -1).join(":") }));
  return completed({ ...known, nodes, edges: [...pairs.values()], tasks }, response, undefined);
}

/** @param {Turn} turn @param {string} messageId @param {string} delta */
function withText({ text, messageId: before }, messageId, delta) {
  const between = text !== "" && messageId !== before ? "\n\n" : "";
  return { messageId, text: (text + between + delta).slice(0, MOST_TEXT) };
}

/** @param {Turn} turn @param {Json} response @param {number | undefined} humanWaitMs @returns {Turn} */
function completed(turn, response, humanWaitMs) {
  const interrupts = objectsIn(response, "interrupts");
  const error = turn.error ?? (isObject(response.error) ? response.error : undefined);
  const wait = humanWaitMs === undefined ? turn.humanWaitMs : (turn.humanWaitMs ?? 0) + humanWaitMs;
  return { ...turn, response, error, humanWaitMs: wait, interrupts: interrupts.length > 0 ? interrupts : turn.interrupts };
}

/** @param {readonly Task[]} tasks @param {Json} event @returns {readonly Task[]} */
function withTask(tasks, event) {
  const name = textIn(event, "node");
  if (name === "") return tasks;
  const path = Array.isArray(event.path) ? event.path.filter((one) => typeof one === "string") : [];
  const node = path.length > 0 ? path.join(":") : name;
  // LangGraph gives a node that is run again after a pause the same task id.
  const id = `${textIn(event, "run_id")}/${textIn(event, "task_id") || node}`;
  const ended = event.type === "node_completed";
  const outcome = !ended ? "running" : OUTCOMES.has(textIn(event, "outcome")) ? /** @type {Outcome} */ (event.outcome) : "ok";
  const at = tasks.findIndex((task) => task.id === id);
  const before = tasks[at];
  if (before !== undefined && before.outcome !== "running") return tasks;
  const task = {
    id,
    node,
    name,
    startedAt: numberIn(event, "started_at") ?? before?.startedAt ?? numberIn(event, "at") ?? 0,
    latencyMs: ended ? (numberIn(event, "latency_ms") ?? 0) : undefined,
    outcome,
    wave: before?.wave ?? nextWave(tasks),
  };
  return before === undefined ? [...tasks, task].slice(-MOST_TASKS) : tasks.with(at, task);
}

/** A task that begins while others are at work stands beside them, else it comes after them. @param {readonly Task[]} tasks */
function nextWave(tasks) {
  const last = tasks.at(-1);
  if (last === undefined) return 0;
  return tasks.some(({ outcome }) => outcome === "running") ? last.wave : last.wave + 1;
}

/** The waves of tasks that are known by their times only. @param {readonly Task[]} tasks @returns {readonly Task[]} */
function inWaves(tasks) {
  let [wave, until] = [-1, -Infinity];
  return tasks
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .map((task) => {
      if (wave < 0 || task.startedAt === 0 || task.startedAt >= until) wave += 1;
      until = Math.max(until, task.startedAt + (task.latencyMs ?? 0));
      return { ...task, wave };
    });
}

/** @typedef {{ state: Outcome | "idle", visits: number, totalMs: number, since: number | undefined }} Activity  since: of the task at work. */

/** What a node did in all its tasks. @param {Turn} turn @param {string} id @returns {Activity} */
export function activityOf(turn, id) {
  const own = turn.tasks.filter(({ node }) => node === id);
  const running = own.find(({ outcome }) => outcome === "running");
  const visits = own.filter(({ outcome }) => outcome !== "skipped");
  const totalMs = own.reduce((sum, { latencyMs }) => sum + (latencyMs ?? 0), 0);
  const ends = reached(turn, id);
  const state = running ? "running" : (visits.at(-1)?.outcome ?? own.at(-1)?.outcome ?? (ends ? "ok" : "idle"));
  return { state, visits: visits.length, totalMs, since: running?.startedAt };
}

/**
 * Where a graph begins and ends runs no task: it is reached when the first one begins, and when all is over.
 * @param {Turn} turn
 * @param {string} id
 */
function reached(turn, id) {
  return turn.tasks.length > 0 && (id === "__start__" || (id === "__end__" && turn.response?.status === "completed"));
}

/**
 * The edges that were taken, as "source\ntarget": from each task to the nearest later ones that its node leads to.
 * @param {Turn} turn
 * @returns {ReadonlySet<string>}
 */
export function taken(turn) {
  const ran = turn.tasks.filter(({ outcome }) => outcome !== "skipped");
  /** @type {Pick<Task, "node" | "wave">[]} */
  const steps = [...(ran.length > 0 ? [{ node: "__start__", wave: -1 }] : []), ...ran];
  if (turn.response?.status === "completed") steps.push({ node: "__end__", wave: Infinity });
  /** @type {Map<string, Set<string>>} */
  const next = new Map();
  for (const { source, target } of turn.edges) next.set(source, (next.get(source) ?? new Set()).add(target));
  /** @type {Set<string>} */
  const used = new Set();
  for (const from of steps) {
    const after = steps.filter(({ node, wave }) => wave > from.wave && next.get(from.node)?.has(node));
    const nearest = Math.min(...after.map(({ wave }) => wave));
    for (const { node, wave } of after) if (wave === nearest) used.add(`${from.node}\n${node}`);
  }
  // A task that was over before its sibling began looks like its predecessor; the sibling still came from somewhere.
  for (const to of steps) {
    const before = steps.filter(({ node, wave }) => wave < to.wave && next.get(node)?.has(to.node));
    if (before.some(({ node }) => used.has(`${node}\n${to.node}`))) continue;
    const nearest = Math.max(...before.map(({ wave }) => wave));
    for (const { node, wave } of before) if (wave === nearest) used.add(`${node}\n${to.node}`);
  }
  return used;
}

/** @param {Json} event @returns {GraphNode[]} */
function nodesIn(event) {
  return objectsIn(event, "nodes").flatMap((one) => {
    const id = textIn(one, "id");
    const [last = id, ...above] = id.split(":").reverse();
    return id === "" ? [] : [{ id, name: textIn(one, "label") || textIn(one, "name") || last, parent: textIn(one, "parent") || above.reverse().join(":") }];
  });
}

/** @param {Json} event @returns {GraphEdge[]} */
function edgesIn(event) {
  /** @type {Map<string, GraphEdge>} Several ways between the same two nodes are drawn as one. */
  const edges = new Map();
  for (const one of objectsIn(event, "edges")) {
    const [source, target, label] = [textIn(one, "source"), textIn(one, "target"), textIn(one, "label")];
    if (source === "" || target === "") continue;
    const key = `${source}\n${target}`;
    const before = edges.get(key);
    const labels = [before?.label, label].filter(Boolean).join(", ");
    edges.set(key, { source, target, conditional: one.conditional === true && (before?.conditional ?? true), label: labels });
  }
  return [...edges.values()];
}

/** @param {unknown} value @returns {value is Json} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {Json} object @param {string} key */
function textIn(object, key) {
  const value = object[key];
  return typeof value === "string" ? value : "";
}

/** @param {Json} object @param {string} key */
function numberIn(object, key) {
  const value = object[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** @param {Json} object @param {string} key @returns {Json[]} */
function objectsIn(object, key) {
  const value = object[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

// A drawing out of a topology -------------------------------------------------------------------------------------

/** Sizes in the drawing's units, which are CSS pixels at its natural size. */
const NODE = { height: 58, least: 136, most: 200, perCharacter: 7.7, around: 50 };
const END = { width: 64, height: 30 };
const GAP = { layer: 62, node: 26, lane: 17, under: 22 };
const LOOP = 22;
const CAPTION = 15;
const PASSING = 12;
const SWEEPS = 12;

/**
 * x, y: the centre. `inside` is the name of what the node is in, "" for nothing.
 * @typedef {GraphNode & { x: number, y: number, width: number, height: number, layer: number, isEnd: boolean }} PlacedNode
 * @typedef {GraphEdge & { path: string, kind: "forward" | "back" | "self", labelX: number, labelY: number }} PlacedEdge
 * @typedef {{ width: number, height: number, nodes: PlacedNode[], edges: PlacedEdge[] }} Layout
 */
/**
 * A place in a layer: a node, or where a long edge passes. above, below: what it needs beyond its middle.
 * @typedef {{ id: string, layer: number, width: number, above: number, below: number, y: number, order: number, before: Place[], after: Place[] }} Place
 */

/**
 * From left to right in layers, each node behind all that lead to it; an edge that closes a cycle counts for nothing there and is
 * drawn as an arc below. Long edges get a lane of their own through the layers between (Sugiyama's method).
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges
 * @returns {Layout}
 */
export function layoutOf(nodes, edges) {
  const parents = new Set(nodes.map(({ parent }) => parent));
  const drawn = nodes.filter(({ id }) => !parents.has(id));
  const ids = new Set(drawn.map(({ id }) => id));
  const kept = edges.filter(({ source, target }) => ids.has(source) && ids.has(target));
  const forward = withoutCycles(drawn, kept);
  const layerOf = layersOf(drawn, forward);
  const loops = new Set(kept.filter(({ source, target }) => source === target).map(({ source }) => source));
  /** @type {Map<string, Place>} */
  const places = new Map();
  for (const { id, name, parent } of drawn) {
    const isEnd = END_NAMES.has(name);
    const height = isEnd ? END.height : NODE.height;
    const width = isEnd ? END.width : Math.min(NODE.most, Math.max(NODE.least, shortName(name).length * NODE.perCharacter + NODE.around));
    const above = height / 2 + (loops.has(id) ? LOOP : parent === "" ? 0 : CAPTION);
    places.set(id, { id, layer: layerOf.get(id) ?? 0, width, above, below: height / 2, y: 0, order: 0, before: [], after: [] });
  }
  const all = [...places.values()];
  /** @type {Map<GraphEdge, Place[]>} */
  const ways = new Map();
  for (const edge of forward) {
    const way = wayOf(edge, places);
    ways.set(edge, way);
    all.push(...way.slice(1, -1));
    way.forEach((place, at) => {
      const next = way[at + 1];
      if (next === undefined) return;
      place.after.push(next);
      next.before.push(place);
    });
  }
  const layers = Array.from({ length: Math.max(0, ...all.map(({ layer }) => layer)) + 1 }, (_, layer) => all.filter((place) => place.layer === layer));
  untangle(layers);
  settle(layers);
  return drawnOf(drawn, kept, layers, places, ways);
}

/** LangGraph's names for where a graph begins and ends. */
const END_NAMES = new Set(["__start__", "__end__"]);

/**
 * The edges but for those that close a cycle: a walk from the start finds them.
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
 * Each node's layer: the longest way to it. What ends the graph stands behind everything.
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges without cycles
 */
function layersOf(nodes, edges) {
  /** @type {Map<string, number>} */
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
  const inner = nodes.filter(({ name, parent }) => name !== "__end__" || parent !== "").map(({ id }) => layers.get(id) ?? 0);
  for (const { id, name, parent } of nodes) if (name === "__end__" && parent === "") layers.set(id, Math.max(0, ...inner.map((layer) => layer + 1)));
  return layers;
}

/** The places of an edge, with one in each layer between. @param {GraphEdge} edge @param {ReadonlyMap<string, Place>} places @returns {Place[]} */
function wayOf({ source, target }, places) {
  const [from, to] = [places.get(source), places.get(target)];
  if (from === undefined || to === undefined) return [];
  const between = Array.from({ length: to.layer - from.layer - 1 }, (_, at) => {
    return { id: "", layer: from.layer + at + 1, width: 0, above: PASSING / 2, below: PASSING / 2, y: 0, order: 0, before: [], after: [] };
  });
  return [from, ...between, to];
}

/** Order each layer so that few edges cross: each place near the middle of its neighbours; the best order is kept. @param {Place[][]} layers */
function untangle(layers) {
  for (const layer of layers) layer.forEach((place, order) => (place.order = order));
  let best = layers.map((layer) => [...layer]);
  let least = crossings(layers);
  for (let sweep = 0; sweep < SWEEPS && least > 0; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      for (const place of layer) {
        const near = down ? place.before : place.after;
        place.y = near.length > 0 ? near.reduce((sum, { order }) => sum + order, 0) / near.length : place.order;
      }
      layer.sort((a, b) => a.y - b.y);
      layer.forEach((place, order) => (place.order = order));
    }
    const now = crossings(layers);
    if (now < least) [best, least] = [layers.map((layer) => [...layer]), now];
  }
  best.forEach((layer, at) => layers[at]?.splice(0, Infinity, ...layer));
}

/** How many edges cross, by the order of their ends. @param {readonly Place[][]} layers */
function crossings(layers) {
  let count = 0;
  for (const layer of layers) {
    layer.forEach(({ after }, at) => {
      for (const below of layer.slice(at + 1)) for (const a of after) for (const b of below.after) if (b.order < a.order) count += 1;
    });
  }
  return count;
}

/** Heights within each layer: near the middle of the neighbours, in order, without overlaps. @param {Place[][]} layers */
function settle(layers) {
  for (const layer of layers) spread(layer, layer.map(() => 0));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      const wanted = layer.map((place) => {
        const near = down && sweep < SWEEPS - 2 ? place.before : [...place.before, ...place.after];
        return near.length > 0 ? near.reduce((sum, one) => sum + one.y * weightOf(one), 0) / near.reduce((sum, one) => sum + weightOf(one), 0) : place.y;
      });
      spread(layer, wanted);
    }
  }
}

/** A node counts for more than an edge that passes, so that the main way stays straight. @param {Place} place */
function weightOf({ width }) {
  return width > 0 ? 8 : 1;
}

/**
 * As near to the wanted heights as the distances allow: pushed down from above, then all moved back by what was added on average.
 * @param {Place[]} layer
 * @param {number[]} wanted
 */
function spread(layer, wanted) {
  let least = -Infinity;
  let [moved, weights] = [0, 0];
  layer.forEach((place, at) => {
    const want = wanted[at] ?? 0;
    const weight = weightOf(place);
    place.y = Math.max(want, least + place.above);
    moved += (place.y - want) * weight;
    weights += weight;
    least = place.y + place.below + (place.width === 0 && layer[at + 1]?.width === 0 ? 0 : GAP.node);
  });
  for (const place of layer) place.y -= moved / weights;
}

/**
 * @param {readonly GraphNode[]} nodes
 * @param {readonly GraphEdge[]} edges
 * @param {readonly Place[][]} layers
 * @param {ReadonlyMap<string, Place>} places
 * @param {ReadonlyMap<GraphEdge, Place[]>} ways
 * @returns {Layout}
 */
function drawnOf(nodes, edges, layers, places, ways) {
  const widths = layers.map((layer) => Math.max(0, ...layer.map(({ width }) => width)));
  const lefts = widths.map((_, at) => widths.slice(0, at).reduce((sum, width) => sum + width + GAP.layer, 0));
  const top = Math.min(...layers.flat().map(({ y, above }) => y - above));
  for (const place of layers.flat()) place.y = round(place.y - top);
  /** @param {number} layer */
  const middle = (layer) => (lefts[layer] ?? 0) + (widths[layer] ?? 0) / 2;
  const placed = nodes.flatMap((node) => {
    const place = places.get(node.id);
    if (place === undefined) return [];
    const isEnd = END_NAMES.has(node.name);
    const height = isEnd ? END.height : NODE.height;
    return [{ ...node, x: round(middle(place.layer)), y: place.y, width: round(place.width), height, layer: place.layer, isEnd }];
  });
  const at = new Map(placed.map((node) => [node.id, node]));
  const bottoms = layers.map((layer) => Math.max(0, ...layer.map(({ y, below }) => y + below)));
  const lanes = lanesOf(edges.filter((edge) => !ways.has(edge) && edge.source !== edge.target), places, bottoms);
  /** @type {PlacedEdge[]} */
  const paths = edges.flatMap((edge) => {
    const [from, to] = [at.get(edge.source), at.get(edge.target)];
    if (from === undefined || to === undefined) return [];
    const way = ways.get(edge);
    if (way !== undefined) return /** @type {PlacedEdge[]} */ ([{ ...edge, ...forwardPath(from, to, way, lefts, widths) }]);
    const open = [from, to].map(({ id, layer }) => layers[layer]?.at(-1)?.id === id);
    return [{ ...edge, ...(from === to ? selfPath(from) : backPath(from, to, lanes.get(edge) ?? 0, open[0] === true, open[1] === true)) }];
  });
  const lowest = Math.max(0, ...bottoms, ...[...lanes.values()].map((lane) => lane + 6));
  return { width: round(middle(layers.length - 1) + (widths.at(-1) ?? 0) / 2), height: round(lowest), nodes: placed, edges: paths };
}

/**
 * How deep each arc back runs: below all layers that it passes, the short ones above the long ones.
 * @param {readonly GraphEdge[]} back
 * @param {ReadonlyMap<string, Place>} places
 * @param {readonly number[]} bottoms
 */
function lanesOf(back, places, bottoms) {
  const spans = back.map((edge) => {
    const [a, b] = [places.get(edge.source)?.layer ?? 0, places.get(edge.target)?.layer ?? 0];
    return { edge, from: Math.min(a, b), to: Math.max(a, b), lane: 0 };
  });
  spans.sort((a, b) => a.to - a.from - (b.to - b.from));
  spans.forEach((span, at) => {
    const under = Math.max(...bottoms.slice(span.from, span.to + 1)) + GAP.under;
    const over = spans.slice(0, at).filter(({ from, to }) => from <= span.to && to >= span.from);
    span.lane = Math.max(under, ...over.map(({ lane }) => lane + GAP.lane));
  });
  return new Map(spans.map(({ edge, lane }) => [edge, round(lane)]));
}

/**
 * @param {PlacedNode} from
 * @param {PlacedNode} to
 * @param {readonly Place[]} way
 * @param {readonly number[]} lefts
 * @param {readonly number[]} widths
 * @returns {{ path: string, kind: "forward", labelX: number, labelY: number }}
 */
function forwardPath(from, to, way, lefts, widths) {
  const points = way.slice(1, -1).flatMap(({ layer, y }) => [
    { x: lefts[layer] ?? 0, y },
    { x: (lefts[layer] ?? 0) + (widths[layer] ?? 0), y },
  ]);
  const all = [...points, { x: to.x - to.width / 2, y: to.y }];
  let last = { x: from.x + from.width / 2, y: from.y };
  const first = all[0] ?? last;
  const label = { labelX: round((last.x + first.x) / 2), labelY: round((last.y + first.y) / 2) };
  let path = `M${round(last.x)} ${round(last.y)}`;
  all.forEach((point, index) => {
    const half = round((last.x + point.x) / 2);
    // Straight through a layer, curved between two.
    path += index % 2 === 1 ? `H${round(point.x)}` : `C${half} ${round(last.y)} ${half} ${round(point.y)} ${round(point.x)} ${round(point.y)}`;
    last = point;
  });
  return { path, kind: "forward", ...label };
}

/** @param {PlacedNode} node @returns {{ path: string, kind: "self", labelX: number, labelY: number }} */
function selfPath({ x, y, height }) {
  const top = y - height / 2;
  return { path: `M${x + 20} ${top}C${x + 30} ${top - LOOP * 1.2} ${x - 30} ${top - LOOP * 1.2} ${x - 20} ${top}`, kind: "self", labelX: x, labelY: top - LOOP + 4 };
}

/**
 * Down, along the lane, and up again. Where others stand below an end, the arc leaves or comes in at its side.
 * @param {PlacedNode} from
 * @param {PlacedNode} to
 * @param {number} lane
 * @param {boolean} outBelow
 * @param {boolean} inBelow
 * @returns {{ path: string, kind: "back", labelX: number, labelY: number }}
 */
function backPath(from, to, lane, outBelow, inBelow) {
  const curve = 14;
  const out = outBelow ? from.x - 12 : from.x + from.width / 2 + GAP.layer / 3;
  const back = inBelow ? to.x + 12 : to.x - to.width / 2 - GAP.layer / 3;
  const turn = out >= back ? -curve : curve;
  const begin = outBelow
    ? `M${out} ${from.y + from.height / 2}V${lane - curve}`
    : `M${from.x + from.width / 2} ${from.y}C${out} ${from.y} ${out} ${from.y} ${out} ${from.y + curve}V${lane - curve}`;
  const end = inBelow
    ? `V${to.y + to.height / 2}`
    : `V${to.y + curve}C${back} ${to.y} ${back} ${to.y} ${to.x - to.width / 2} ${to.y}`;
  const path = `${begin}Q${out} ${lane} ${out + turn} ${lane}H${back - turn}Q${back} ${lane} ${back} ${lane - curve}${end}`;
  return { path, kind: "back", labelX: round((out + back) / 2), labelY: lane };
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}

/** @param {string} name */
function shortName(name) {
  const told = name === "__start__" ? "Start" : name === "__end__" ? "End" : name;
  return told.length > 19 ? `${told.slice(0, 18)}…` : told;
}

// Reading a turn, also across broken connections -------------------------------------------------------------------

/** An answer that says in the server's words what is wrong. */
export class Problem extends Error {
  /** @param {number} status @param {Json} body problem+json, or what there was of it */
  constructor(status, body) {
    super(textIn(body, "detail") || textIn(body, "title") || `The server answered with status ${status}.`);
    this.status = status;
    this.title = textIn(body, "title") || "The request failed";
    this.code = textIn(body, "code");
    this.correlationId = textIn(body, "correlation_id");
    this.retryAfterMs = (numberIn(body, "retry_after") ?? 0) * 1000;
  }

  /** @param {Response} response */
  static async of(response) {
    const body = await response.json().catch(() => ({})); // A proxy's page is no words for people.
    return new Problem(response.status, isObject(body) ? body : {});
  }

  /** Whether the same request may go well a moment later. */
  get passing() {
    return [429, 502, 503, 504].includes(this.status);
  }
}

/** The connection is gone and did not come back. */
export class Lost extends Error {}

const ELSE = { title: "Something else answered", detail: "Something between this page and the server sent a page of its own. Try again, or sign in there." };
const BACKOFF = { firstMs: 250, mostMs: 8_000 };
/** With the waits above this is about a minute and a half. */
const MOST_FAILURES = 16;
/** Heartbeats come every 10 s; without them the connection is dead, whatever the browser thinks. */
const SILENCE_MS = 45_000;

/**
 * link: whether events can come now. json: the whole turn, where the server (or what is between) sends no events.
 * @typedef {{ kind: "event", event: Json, arrivedAt: number, first: boolean }
 *   | { kind: "link", open: boolean, failures: number }
 *   | { kind: "json", response: Json }} Step
 */
/**
 * start: the request that begins the turn, the same each time. follow: the rest of a run's events behind an id.
 * cursor: where the turn stands; given, it is gone on with. wait: resolves after the time, sooner where there is hope.
 * @typedef {{ start: () => Promise<Response>, follow: (runId: string, lastId: string) => Promise<Response>,
 *   cursor: { runId: string, lastId: string }, wait: (ms: number) => Promise<void>, now: () => number, signal: AbortSignal,
 *   silenceMs?: number }} Reading
 */

/**
 * The turn's events, each once, to its end; a broken connection is gone on with behind the last id.
 *
 * Throws Problem where the server refuses, Lost where the connection stays away. Ends silently when aborted.
 * @param {Reading} reading
 * @returns {AsyncGenerator<Step, void, void>}
 */
export async function* readTurn(reading) {
  const { cursor, signal } = reading;
  let failures = 0;
  let first = cursor.runId === "";
  /** @type {number | undefined} */
  let retryMs;
  while (!signal.aborted) {
    let pause = 0;
    try {
      const response = await (cursor.runId === "" ? reading.start() : reading.follow(cursor.runId, cursor.lastId));
      if (!response.ok) throw await Problem.of(response);
      const type = (response.headers.get("content-type") ?? "").toLowerCase();
      if (type.includes("json")) {
        yield { kind: "json", response: await response.json() };
        return;
      }
      if (!type.includes("text/event-stream")) throw new Problem(response.status, ELSE);
      cursor.runId = response.headers.get("x-run-id") ?? cursor.runId;
      yield { kind: "link", open: true, failures };
      const parser = new SseParser();
      for await (const { id, data } of framesOf(response, parser, reading.silenceMs ?? SILENCE_MS)) {
        failures = 0;
        const event = eventIn(data);
        if (event !== undefined) yield { kind: "event", event, arrivedAt: reading.now(), first };
        // Behind the event, so that one that was not taken comes again.
        if (id !== undefined) [cursor.runId, cursor.lastId] = [id.split(":")[0] || cursor.runId, id];
        if (event?.type === "turn_completed") return;
      }
      retryMs = parser.retryMs ?? retryMs;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && !error.passing) throw error;
      if (error instanceof Problem) pause = error.retryAfterMs;
      if (failures >= MOST_FAILURES) throw new Lost("The connection is gone.", { cause: error });
    }
    if (signal.aborted) return;
    failures += 1;
    if (failures > MOST_FAILURES) throw new Lost("The connection is gone.");
    first = first && cursor.runId === "";
    yield { kind: "link", open: false, failures };
    const backoff = Math.min(BACKOFF.firstMs * 2 ** (failures - 1), BACKOFF.mostMs);
    await reading.wait(Math.max(pause, failures === 1 ? Math.min(retryMs ?? backoff, BACKOFF.mostMs) : backoff));
  }
}

/** @param {Response} response @param {SseParser} parser @param {number} silenceMs @returns {AsyncGenerator<Frame, void, void>} */
async function* framesOf(response, parser, silenceMs) {
  const reader = response.body?.getReader?.();
  if (reader === undefined) {
    yield* parser.feed(new TextEncoder().encode(await response.text()));
    return;
  }
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silenceMs);
      if (done) return;
      yield* parser.feed(value);
    }
  } finally {
    reader.cancel().catch(() => undefined); // It is broken already, or not wanted any more.
  }
}

/** @template T @param {Promise<T>} promise @param {number} ms @returns {Promise<T>} */
async function within(promise, ms) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing came for ${ms} ms.`)), ms);
  });
  try {
    return /** @type {T} */ (await Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} data @returns {Json | undefined} undefined for what is no event of ours */
function eventIn(data) {
  try {
    const event = JSON.parse(data);
    return isObject(event) ? event : undefined;
  } catch {
    return undefined;
  }
}

/** Events that come this much later than others are held back by something. */
const HELD_MS = 500;

/**
 * Whether events come as they happen: compares when each happened (the server's clock) with when it came (ours). Clocks may
 * differ; what counts is how the difference changes.
 */
export class Delivery {
  #least = Infinity;
  #most = -Infinity;
  /** @type {[number, number] | undefined} */
  #happened;
  /** @type {[number, number] | undefined} */
  #came;

  /** @param {number} at @param {number} arrivedAt */
  add(at, arrivedAt) {
    this.#least = Math.min(this.#least, arrivedAt - at);
    this.#most = Math.max(this.#most, arrivedAt - at);
    this.#happened = [Math.min(this.#happened?.[0] ?? at, at), Math.max(this.#happened?.[1] ?? at, at)];
    this.#came = [this.#came?.[0] ?? arrivedAt, arrivedAt];
  }

  /** What to take from our clock to get the server's, in milliseconds. */
  get skewMs() {
    return Number.isFinite(this.#least) ? this.#least : 0;
  }

  /** How long the most delayed event was held back, and whether all came at once; undefined while they come as they happen. */
  get held() {
    if (this.#happened === undefined || this.#came === undefined) return undefined;
    const heldMs = this.#most - this.#least;
    const span = this.#happened[1] - this.#happened[0];
    if (heldMs < HELD_MS || heldMs < span * 0.3) return undefined;
    return { heldMs, oneBlock: this.#came[1] - this.#came[0] <= Math.max(80, span * 0.1) };
  }
}

/** A time for people. @param {number} ms */
export function duration(ms) {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 3_600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

// The page ---------------------------------------------------------------------------------------------------------

/** Shapes of 16 by 16, so that no state is told by colour alone. */
const ICONS = {
  idle: "M4.5 8h7",
  running: "M5.5 3.5 12.5 8l-7 4.5z",
  ok: "m3 8.5 3.4 3.4L13 4.6",
  skipped: "m3.5 4 4 4-4 4m5-8 4 4-4 4",
  error: "m4.2 4.2 7.6 7.6m0-7.6-7.6 7.6",
  interrupted: "M5.5 3.5v9m5-9v9",
  cancelled: "M4.5 4.5h7v7h-7z",
  refused: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M4.2 4.2l7.6 7.6",
  again: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5",
};
const FILLED = new Set(["running", "cancelled"]);

/** @type {Readonly<Record<Outcome | "idle", string>>} */
const WORDS = {
  idle: "not run",
  running: "running",
  ok: "done",
  skipped: "skipped",
  error: "failed",
  interrupted: "asks a person",
  cancelled: "stopped",
};

const PEOPLE = [
  { sub: "alice", name: "Alice", can: "admin" },
  { sub: "carol", name: "Carol", can: "contributor" },
  { sub: "bob", name: "Bob", can: "reader" },
];
const SVG = "http://www.w3.org/2000/svg";
/** A wide graph is drawn this much smaller before it has to be scrolled. */
const LEAST_SCALE = 0.8;
/** Progress is read out at most this often. */
const SPEAK_MS = 900;
const TICK_MS = 100;
const MOST_TURNS = 50;

/**
 * @param {string} name
 * @param {Record<string, string | number | boolean | undefined>} [attributes] undefined and false: not there
 * @param {...(Node | string)} children
 */
function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** @param {string} name @param {Record<string, string | number | boolean | undefined>} [attributes] @param {...(Node | string)} children */
function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/**
 * @template {Element} T
 * @param {T} element
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {readonly (Node | string)[]} children
 * @returns {T}
 */
function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : String(value));
  element.append(...children);
  return element;
}

/** @param {keyof typeof ICONS} name */
function icon(name) {
  return draw("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", "data-filled": FILLED.has(name) }, draw("path", { d: ICONS[name] }));
}

/** The graph as SVG: built once for each topology, then kept up to date. */
class Drawing {
  /** @type {readonly GraphNode[] | undefined} */
  #nodes;
  /** @type {readonly GraphEdge[] | undefined} */
  #edges;
  /** @type {Map<string, { group: Element, activity: string, width: number }>} */
  #shapes = new Map();
  /** @type {Map<string, Element>} */
  #lines = new Map();
  #size = { width: 1, height: 1 };
  #description = draw("desc", { id: "drawing-description" });

  /** @param {HTMLElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
  }

  /** @param {Turn} turn @param {boolean} live whether the turn goes on @param {number} now the server's clock */
  show(turn, live, now) {
    if (turn.nodes !== this.#nodes || turn.edges !== this.#edges) this.#build(turn);
    const used = taken(turn);
    for (const [key, line] of this.#lines) {
      line.toggleAttribute("data-taken", used.has(key));
      line.setAttribute("marker-end", used.has(key) ? "url(#tip-on)" : "url(#tip)");
    }
    const activities = new Map(turn.nodes.map(({ id }) => [id, activityOf(turn, id)]));
    const longest = Math.max(1, ...[...activities.values()].map(({ totalMs }) => totalMs));
    for (const [id, shape] of this.#shapes) {
      const activity = activities.get(id) ?? { state: "idle", visits: 0, totalMs: 0, since: undefined };
      this.#light(shape, activity, live, longest, now);
    }
    const told = turn.nodes.flatMap(({ id, name }) => (this.#shapes.has(id) ? [`${fullName(name)}: ${wordsOf(activities.get(id), live)}`] : []));
    setText(this.#description, `${told.join("; ")}.`);
  }

  /** As wide as its place, but never so small that it cannot be read. */
  fit() {
    const svg = this.canvas.querySelector("svg[role]");
    if (svg === null) return;
    const scale = Math.max(LEAST_SCALE, Math.min(1, this.canvas.clientWidth / this.#size.width));
    svg.setAttribute("width", String(round(this.#size.width * scale)));
    svg.setAttribute("height", String(round(this.#size.height * scale)));
  }

  /** Back to where nothing is drawn. @param {string} title @param {string} words */
  empty(title, words) {
    [this.#nodes, this.#edges] = [undefined, undefined];
    const boxes = [4, 84, 204].map((x, at) => draw("rect", { class: "ghost", x, y: at === 0 ? 26 : 16, width: at === 0 ? 44 : 84, height: at === 0 ? 24 : 44, rx: 10 }));
    const lines = ["M48 38H80", "M168 38H200", "M246 60V78H126V60"].map((d, at) => draw("path", { class: "ghost", d, "stroke-dasharray": at > 0 ? "4 4" : undefined }));
    const ghost = draw("svg", { viewBox: "0 0 292 84", "aria-hidden": "true" }, ...boxes, ...lines);
    this.canvas.replaceChildren(el("div", { class: "empty" }, ghost, el("strong", {}, title), el("span", {}, words)));
  }

  /** Bring a node into view where the drawing is wider than the screen. @param {string} id */
  reveal(id) {
    const shape = this.#shapes.get(id)?.group.getBoundingClientRect();
    const { left, right, width } = this.canvas.getBoundingClientRect();
    if (shape === undefined || (shape.left >= left + 8 && shape.right <= right - 8)) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.canvas.scrollBy({ left: shape.left + shape.width / 2 - left - width / 2, behavior: calm ? "auto" : "smooth" });
  }

  /** @param {Turn} turn */
  #build(turn) {
    [this.#nodes, this.#edges] = [turn.nodes, turn.edges];
    const layout = layoutOf(turn.nodes, turn.edges);
    const [width, height] = [layout.width + 48, layout.height + 48];
    this.#size = { width, height };
    this.#lines = new Map(layout.edges.map((edge) => [`${edge.source}\n${edge.target}`, line(edge)]));
    this.#shapes = new Map(layout.nodes.map((node) => [node.id, { group: shape(node), activity: "", width: node.width }]));
    const svg = draw(
      "svg",
      { role: "img", "aria-labelledby": "drawing-title", "aria-describedby": "drawing-description", viewBox: `-24 -24 ${width} ${height}` },
      draw("title", { id: "drawing-title" }, "The agent as a graph, from left to right"),
      this.#description,
      draw("defs", {}, tip("tip", ""), tip("tip-on", "on"), fork()),
      ...this.#lines.values(),
      ...layout.edges.flatMap((edge) => (edge.label === "" ? [] : [edgeLabel(edge)])),
      ...[...this.#shapes.values()].map(({ group }) => group),
    );
    this.canvas.replaceChildren(svg);
    this.fit();
    this.canvas.scrollTo({ left: 0, behavior: "instant" }); // A way to where the turn before ended may still be going on.
  }

  /**
   * @param {{ group: Element, activity: string, width: number }} shape
   * @param {Activity} activity
   * @param {boolean} live
   * @param {number} longest
   * @param {number} now
   */
  #light(shape, { state, visits, totalMs, since }, live, longest, now) {
    const ms = since === undefined ? totalMs : totalMs + Math.max(0, now - since);
    const told = toldOf(state, visits, ms, live);
    const share = visits === 0 ? 0 : Math.max(0.03, Math.min(1, ms / Math.max(longest, ms)));
    const key = `${state} ${visits} ${told} ${share}`;
    if (key === shape.activity) return;
    shape.activity = key;
    const { group } = shape;
    group.setAttribute("data-state", state);
    group.setAttribute("data-visits", String(visits));
    const sign = group.querySelector(".sign");
    sign?.setAttribute("d", ICONS[state]);
    sign?.toggleAttribute("data-filled", FILLED.has(state));
    setText(group.querySelector(".told"), told);
    group.querySelector(".took")?.setAttribute("width", String(round((shape.width - 24) * share)));
    setText(group.querySelector(".visits-text"), visits > 1 ? `${visits}×` : "");
    group.querySelector(".badge")?.setAttribute("visibility", visits > 1 ? "visible" : "hidden");
  }
}

/** @param {PlacedEdge} edge */
function line({ source, target, conditional, path, kind }) {
  return draw("path", { class: "edge", d: path, "data-source": source, "data-target": target, "data-conditional": conditional, "data-kind": kind, "marker-start": conditional ? "url(#fork)" : undefined, "marker-end": "url(#tip)" });
}

/** @param {PlacedEdge} edge */
function edgeLabel({ label, labelX, labelY }) {
  return draw("text", { class: "edge-label", x: labelX, y: labelY + 3 }, label.length > 16 ? `${label.slice(0, 15)}…` : label);
}

/** @param {string} id @param {string} on */
function tip(id, on) {
  return draw("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, draw("path", { d: "M0 .5 7.5 4 0 7.5z", class: `tip ${on}` }));
}

function fork() {
  return draw("marker", { id: "fork", viewBox: "0 0 10 10", refX: 1, refY: 5, markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto" }, draw("path", { d: "M1 5 5 1.6 9 5 5 8.4z", class: "fork" }));
}

/** @param {PlacedNode} node */
function shape({ id, name, parent, x, y, width, height, isEnd }) {
  const [left, top] = [-width / 2, -height / 2];
  const box = { x: left, y: top, width, height, rx: isEnd ? height / 2 : 11 };
  const group = draw("g", { class: "node", "data-node": id, "data-state": "idle", "data-end": isEnd, transform: `translate(${x} ${y})` });
  group.append(draw("title", {}, fullName(id)), draw("rect", { class: "box", ...box }));
  if (isEnd) {
    group.append(draw("text", { class: "name", y: 4 }, shortName(name)));
    return group;
  }
  group.append(
    draw("rect", { class: "halo", ...box }),
    draw("path", { class: "sign", d: ICONS.idle, transform: `translate(${left + 11} ${top + 10}) scale(0.95)` }),
    draw("text", { class: "name", x: left + 33, y: top + 22.5 }, shortName(name)),
    draw("text", { class: "told", x: left + 33, y: top + 39 }),
    draw("rect", { class: "track", x: left + 12, y: top + height - 10, width: width - 24, height: 4, rx: 2 }),
    draw("rect", { class: "took", x: left + 12, y: top + height - 10, width: 0, height: 4, rx: 2 }),
    draw("g", { class: "badge", visibility: "hidden" }, draw("rect", { class: "visits", x: -left - 24, y: top - 9, width: 30, height: 18, rx: 9 }), draw("text", { class: "visits-text", x: -left - 9, y: top + 4 })),
  );
  if (parent !== "") group.append(draw("text", { class: "inside", x: left + 2, y: top - 5 }, `in ${shortName(parent)}`));
  return group;
}

/** @param {Outcome | "idle"} state @param {number} visits @param {number} ms @param {boolean} live */
function toldOf(state, visits, ms, live) {
  if (state === "idle") return live ? "waiting" : "not run";
  if (state === "skipped" || state === "interrupted" || visits === 0) return WORDS[state];
  return state === "ok" ? duration(ms) : `${WORDS[state]} · ${duration(ms)}`;
}

/** @param {Activity | undefined} activity @param {boolean} live */
function wordsOf(activity, live) {
  if (activity === undefined || activity.state === "idle") return live ? "waiting" : "not run";
  const { state, visits, totalMs } = activity;
  const times = visits > 1 ? `, ${visits} times` : "";
  return visits === 0 || state === "running" ? `${WORDS[state]}${times}` : `${WORDS[state]}${times}, ${duration(totalMs)}`;
}

/** @param {string} name */
function fullName(name) {
  return name.split(":").map((part) => (part === "__start__" ? "Start" : part === "__end__" ? "End" : part)).join(" › ");
}

/** @param {Element | null} element @param {string} text */
function setText(element, text) {
  if (element !== null && element.textContent !== text) element.textContent = text;
}

/** How long its nodes were at work, waiting for a person not counted, in milliseconds. @param {Turn} turn @param {number} now */
function workMs(turn, now) {
  let [sum, until] = [0, -Infinity];
  for (const { startedAt, latencyMs } of turn.tasks.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const end = startedAt + (latencyMs ?? Math.max(0, now - startedAt));
    sum += Math.max(0, end - Math.max(startedAt, until));
    until = Math.max(until, end);
  }
  return sum;
}

/** @param {Turn} turn */
function replyOf(turn) {
  const reply = turn.response?.reply;
  if (!isObject(reply)) return turn.text;
  return objectsIn(reply, "parts").flatMap((part) => (part.type === "text" ? [textIn(part, "text")] : [])).join("\n\n");
}

/** @typedef {"idle" | "busy" | "paused" | "over" | "lost" | "failed"} Phase */
/** @typedef {{ asked: string, turn: Turn, phase: Phase }} Said */

/** @param {Said} said @returns {{ state: keyof typeof ICONS, words: string }} */
function outcomeOf({ turn, phase }) {
  if (phase === "idle") return { state: "idle", words: "Ready" };
  if (phase === "busy") {
    const running = [...new Set(turn.tasks.filter(({ outcome }) => outcome === "running").map(({ node }) => fullName(node)))];
    const what = running.length > 2 ? `${running.length} nodes` : running.join(" and ");
    return { state: "running", words: what !== "" ? `Running ${what}` : turn.runId === "" ? "Sending" : "Running" };
  }
  if (phase === "paused") return { state: "interrupted", words: "Waiting for your answer" };
  if (phase === "lost") return { state: "error", words: "Connection lost" };
  if (phase === "failed") return { state: "error", words: "Not accepted" };
  switch (turn.response?.status) {
    case "completed":
      return { state: "ok", words: "Completed" };
    case "cancelled":
      return { state: "cancelled", words: "Stopped" };
    case "refused":
      return { state: "refused", words: "Refused" };
    case "paused":
      return { state: "cancelled", words: "Withdrawn" };
    default:
      return { state: "error", words: "Failed" };
  }
}

/** The page: what is known in fields, `#render` puts it on the screen. */
class Page {
  #base = new URL(".", document.baseURI);
  #dev = document.querySelector('meta[name="sign-in"]')?.getAttribute("content") === "dev";
  #canStream = typeof ReadableStream === "function" && "body" in Response.prototype;
  #drawing = new Drawing(at("canvas"));

  #token = "";
  /** @type {string} The demo person who is signed in; "" for a pasted token. */
  #sub = "";
  /** @type {Promise<void> | undefined} Signing in, for whoever waits for a token. */
  #signing;
  /** @type {(() => void) | undefined} */
  #signedIn;

  /** @type {Json[]} */
  #agents = [];
  #threadId = "";
  /** @type {Said[]} The newest is the one that is drawn. */
  #said = [];
  #link = { open: true, failures: 0 };
  #delivery = new Delivery();
  #degraded = false;
  /** @type {Error | undefined} */
  #failure;
  /** @type {AbortController | undefined} */
  #reading;
  #cursor = { runId: "", lastId: "" };
  #stopping = false;
  /** @type {Map<string, Json>} Answers given so far, where several questions are open. */
  #answers = new Map();
  /** @type {(() => void) | undefined} Ends the wait before the next try. */
  #hurry;

  #scheduled = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #ticking;
  /** @type {string[]} */
  #toSpeak = [];
  /** @type {readonly Json[] | undefined} The questions whose cards are on the screen. */
  #cards;
  #listed = 0;
  #stepCount = 0;

  async start() {
    this.#wire();
    this.#legend();
    this.#render();
    if (!this.#dev || !(await this.#signInAs("alice"))) this.#askToSignIn("");
  }

  get #now() {
    return performance.timeOrigin + performance.now();
  }

  get #last() {
    return this.#said.at(-1) ?? { asked: "", turn: NEW_TURN, phase: /** @type {Phase} */ ("idle") };
  }

  /** @param {Partial<Said>} changes */
  #change(changes) {
    this.#said = [...this.#said.slice(0, -1), { ...this.#last, ...changes }];
    this.#schedule();
  }

  #wire() {
    at("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
    at("message").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#ask();
    });
    at("stop").addEventListener("click", () => void this.#stop());
    at("anew").addEventListener("click", () => this.#anew());
    at("agent").addEventListener("change", () => this.#anew());
    at("leave").addEventListener("click", () => this.#leave());
    at("with-token").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = /** @type {HTMLInputElement} */ (at("token"));
      const token = field.value.trim();
      field.value = "";
      void this.#enter(token, "");
    });
    at("sign-in").addEventListener("cancel", (event) => event.preventDefault()); // There is nothing to do here without a token.
    addEventListener("resize", () => this.#drawing.fit());
    for (const pane of [at("scroll"), at("listed")]) {
      pane.addEventListener("scroll", () => (pane.dataset.away = String(pane.scrollHeight - pane.scrollTop - pane.clientHeight > 40)));
    }
    addEventListener("online", () => this.#hurry?.());
    document.addEventListener("visibilitychange", () => this.#hurry?.());
  }

  // Signing in ----------------------------------------------------------------------------------------------------

  /** @param {string} why */
  #askToSignIn(why) {
    const dialog = /** @type {HTMLDialogElement} */ (at("sign-in"));
    setText(at("why"), why || (this.#dev ? "Choose somebody of the demo, or paste a token." : "Paste an access token for this server."));
    at("people").hidden = !this.#dev;
    at("people").replaceChildren(
      ...PEOPLE.map(({ sub, name, can }) => {
        const button = el("button", { type: "button" }, name, el("small", {}, can));
        button.addEventListener("click", () => void this.#signInAs(sub));
        return button;
      }),
    );
    if (!dialog.open) dialog.showModal();
  }

  /** @param {string} sub @returns {Promise<boolean>} */
  async #signInAs(sub) {
    try {
      const response = await fetch(new URL("dev/token", this.#base), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sub }) });
      if (!response.ok) throw await Problem.of(response);
      return await this.#enter(textIn(await response.json(), "token"), sub);
    } catch (error) {
      this.#refused(error);
      return false;
    }
  }

  /** The token is tried before it is used. @param {string} token @param {string} sub @returns {Promise<boolean>} */
  async #enter(token, sub) {
    try {
      const response = await fetch(new URL("copilotkit/info", this.#base), { headers: { Authorization: `Bearer ${token}` } });
      if (!response.ok) throw await Problem.of(response);
      this.#agents = objectsIn(await response.json(), "agents");
    } catch (error) {
      this.#refused(error);
      return false;
    }
    [this.#token, this.#sub] = [token, sub];
    at("wrong").hidden = true;
    /** @type {HTMLDialogElement} */ (at("sign-in")).close();
    setText(at("name"), PEOPLE.find((person) => person.sub === sub)?.name ?? nameOf(token));
    this.#pick();
    this.#signedIn?.();
    at("message").focus({ preventScroll: true });
    this.#schedule();
    return true;
  }

  /** @param {unknown} error */
  #refused(error) {
    at("wrong").hidden = false;
    setText(at("wrong"), error instanceof Problem && error.status === 401 ? `This token is not accepted: ${error.message}` : wordsFor(error));
  }

  /** Resolves when there is another token than this one. @param {string} token @returns {Promise<void>} */
  async #another(token) {
    if (this.#token !== token) return;
    if (this.#sub !== "" && (await this.#signInAs(this.#sub))) return;
    this.#signing ??= new Promise((resolve) => {
      this.#signedIn = () => {
        [this.#signing, this.#signedIn] = [undefined, undefined];
        resolve();
      };
    });
    this.#askToSignIn("Your session has ended. Sign in to go on; nothing on this page is lost.");
    await this.#signing;
  }

  #leave() {
    this.#reading?.abort();
    [this.#token, this.#sub, this.#agents] = ["", "", []];
    this.#anew();
    this.#askToSignIn("You are signed out.");
  }

  /** Fill the list of agents, and keep the one that is chosen. */
  #pick() {
    const select = /** @type {HTMLSelectElement} */ (at("agent"));
    const chosen = select.value;
    select.replaceChildren(...this.#agents.map((agent) => el("option", { value: textIn(agent, "name") }, textIn(agent, "name"))));
    const standard = textIn(this.#agents.find((agent) => agent.default === true) ?? this.#agents[0] ?? {}, "name");
    select.value = this.#agents.some((agent) => agent.name === chosen) ? chosen : standard;
  }

  get #agent() {
    return /** @type {HTMLSelectElement} */ (at("agent")).value;
  }

  /**
   * A request with the token; where it is refused, the same once more with a new one.
   * @param {string} path
   * @param {{ method?: string, headers?: Record<string, string>, body?: string, signal?: AbortSignal }} [init]
   * @returns {Promise<Response>}
   */
  async #call(path, init = {}) {
    for (;;) {
      const token = this.#token;
      const response = await fetch(new URL(path, this.#base), { ...init, cache: "no-store", headers: { ...init.headers, Authorization: `Bearer ${token}` } });
      if (response.status !== 401) return response;
      await this.#another(token);
    }
  }

  // Turns -----------------------------------------------------------------------------------------------------------

  #ask() {
    const field = /** @type {HTMLTextAreaElement} */ (at("message"));
    const message = field.value.trim();
    if (message === "" || this.#last.phase === "busy" || this.#token === "") return;
    field.value = "";
    this.#answers.clear();
    if (this.#last.phase === "paused") this.#change({ phase: "over" }); // What was asked is withdrawn by another message.
    this.#said = [...this.#said, { asked: message, turn: NEW_TURN, phase: /** @type {Phase} */ ("busy") }].slice(-MOST_TURNS);
    const body = { message, agent: this.#agent, ...(this.#threadId && { thread_id: this.#threadId }) };
    void this.#follow(() => this.#post("chat", body));
  }

  /** @param {string} path @param {Json} body */
  #post(path, body) {
    const [signal, key] = [this.#reading?.signal, randomKey()];
    // The same key for each try: a try whose answer was lost may have begun the turn.
    const send = () =>
      this.#call(this.#canStream ? `${path}?tokens=1` : path, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: this.#canStream ? "text/event-stream" : "application/json", "Idempotency-Key": key },
        body: JSON.stringify(body),
        ...(signal && { signal }),
      });
    return send;
  }

  /** @param {() => () => Promise<Response>} begin made once reading has begun */
  async #follow(begin, cursor = { runId: "", lastId: "" }) {
    const reading = new AbortController();
    this.#reading?.abort();
    [this.#reading, this.#cursor, this.#link, this.#failure, this.#stopping] = [reading, cursor, { open: true, failures: 0 }, undefined, false];
    this.#delivery = new Delivery();
    this.#degraded = false;
    this.#change({ phase: "busy" });
    /** @type {Phase} */
    let phase = "over";
    try {
      const { signal } = reading;
      for await (const step of readTurn({ start: begin(), follow: (runId, lastId) => this.#reattach(runId, lastId), cursor, wait: (ms) => this.#pause(ms), now: () => this.#now, signal })) this.#take(step);
      if (this.#last.turn.response?.status === "paused") phase = "paused";
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      phase = error instanceof Lost ? "lost" : this.#last.turn.interrupts.length > 0 ? "paused" : "failed";
    }
    if (reading.signal.aborted) return;
    if (phase !== "over" && this.#last.turn.runId === "" && this.#last.turn.pausedAt === undefined) this.#giveBack();
    this.#link = { open: true, failures: 0 };
    this.#change({ phase });
    this.#render();
    follow(at("scroll"));
    this.#speak(`${outcomeOf(this.#last).words}.`);
    this.#settleFocus(phase);
  }

  /** A message that did not become a turn can be sent again. */
  #giveBack() {
    const field = /** @type {HTMLTextAreaElement} */ (at("message"));
    if (field.value === "") field.value = this.#last.asked;
  }

  /** @param {string} runId @param {string} lastId */
  #reattach(runId, lastId) {
    const headers = { Accept: "text/event-stream", ...(lastId !== "" && { "Last-Event-ID": lastId }) };
    const signal = this.#reading?.signal;
    return this.#call(`chat/runs/${encodeURIComponent(runId)}/events?tokens=1`, { headers, ...(signal && { signal }) });
  }

  /** @param {number} ms @returns {Promise<void>} */
  #pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms * (0.85 + Math.random() * 0.3)); // Not all pages at the same moment.
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** @param {Step} step */
  #take(step) {
    if (step.kind === "link") {
      this.#link = step;
      this.#schedule();
      return;
    }
    const before = this.#last.turn;
    if (step.kind === "json") {
      this.#degraded = true;
      const { text, humanWaitMs } = before;
      this.#change({ turn: { ...turnOf(step.response), text, humanWaitMs } });
    } else {
      const happened = numberIn(step.event, "at");
      if (happened !== undefined && step.first) this.#delivery.add(happened, step.arrivedAt);
      this.#change({ turn: advance(before, step.event) });
    }
    const { turn } = this.#last;
    this.#threadId = turn.threadId || this.#threadId;
    this.#tell(before, turn);
  }

  async #stop() {
    this.#stopping = true;
    this.#schedule();
    const { runId } = this.#last.turn;
    if (this.#threadId === "") {
      this.#reading?.abort(); // Nothing is known to be running; a turn that nobody follows ends by itself.
      this.#change({ phase: "over", turn: { ...this.#last.turn, response: { status: "cancelled" } } });
      return;
    }
    try {
      const response = await this.#call("copilotkit/stop", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ threadId: this.#threadId, ...(runId && { runId }) }) });
      if (!response.ok) throw await Problem.of(response);
    } catch (error) {
      this.#stopping = false;
      this.#failure = new Error(`It was not stopped. ${wordsFor(error)}`);
    }
    this.#schedule();
  }

  /** @param {string} id @param {Json} answer */
  #answer(id, answer) {
    this.#answers.set(id, { interrupt_id: id, ...answer });
    const { turn } = this.#last;
    if (turn.interrupts.some((one) => !this.#answers.has(idOf(one)))) {
      this.#schedule();
      return;
    }
    const answers = [...this.#answers.values()];
    this.#answers.clear();
    void this.#resume(turn, answers);
  }

  /** @param {Turn} paused @param {readonly Json[]} answers */
  async #resume(paused, answers) {
    this.#change({ turn: answered(paused) });
    at("stop").focus();
    await this.#follow(() => this.#post("chat/resume", { thread_id: this.#threadId, answers }));
    // The answer was not taken: what was asked is still asked.
    if (this.#failure !== undefined && this.#last.turn.runId === "") {
      const closed = this.#failure instanceof Problem && ["interrupt_closed", "interrupt_unknown"].includes(this.#failure.code);
      this.#change(closed ? { phase: "failed" } : { turn: paused, phase: "paused" });
    }
  }

  #anew() {
    this.#reading?.abort();
    [this.#said, this.#threadId, this.#failure, this.#degraded, this.#delivery] = [[], "", undefined, false, new Delivery()];
    this.#link = { open: true, failures: 0 };
    this.#answers.clear();
    this.#schedule();
    if (this.#token !== "") at("message").focus();
  }

  /** What had the focus may be gone: a person at the keyboard goes on where it makes sense. @param {Phase} phase */
  #settleFocus(phase) {
    const active = document.activeElement;
    if (active !== document.body && active !== null && active.id !== "stop" && active.id !== "message") return;
    const typing = /** @type {HTMLTextAreaElement} */ (at("message")).value !== "";
    const card = /** @type {HTMLElement | null} */ (document.querySelector(".card"));
    if (phase === "paused" && card !== null && !typing) card.focus({ preventScroll: matchMedia("(min-width: 62rem)").matches });
    else at("message").focus({ preventScroll: true });
  }

  /** Read out what began and ended. @param {Turn} before @param {Turn} after */
  #tell(before, after) {
    if (before.tasks === after.tasks) return;
    const known = new Map(before.tasks.map((task) => [task.id, task.outcome]));
    for (const { id, node, outcome, latencyMs } of after.tasks) {
      if (known.get(id) === outcome) continue;
      this.#speak(`${fullName(node)} ${WORDS[outcome]}${latencyMs === undefined || outcome === "skipped" ? "" : `, ${duration(latencyMs)}`}.`);
      if (!["ok", "skipped"].includes(outcome)) requestAnimationFrame(() => this.#drawing.reveal(node));
    }
  }

  /** @param {string} words */
  #speak(words) {
    this.#toSpeak.push(words);
    if (this.#toSpeak.length > 1) return;
    setTimeout(() => {
      at("spoken").textContent = this.#toSpeak.slice(-6).join(" ");
      this.#toSpeak = [];
    }, SPEAK_MS);
  }

  // The screen --------------------------------------------------------------------------------------------------------

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#render();
    });
  }

  #render() {
    const { turn, phase } = this.#last;
    const busy = phase === "busy";
    const now = this.#now - this.#delivery.skewMs;
    at("who").hidden = this.#token === "";
    const select = /** @type {HTMLSelectElement} */ (at("agent"));
    select.disabled = busy || this.#agents.length === 0;
    const agent = this.#agents.find((one) => one.name === this.#agent);
    setText(at("graph-heading"), textIn(agent ?? {}, "name") || "The agent as a graph");
    setText(at("about"), textIn(agent ?? {}, "description"));
    this.#renderOutcome(now);
    this.#renderNotes();
    if (turn.nodes.length > 0) this.#drawing.show(turn, busy, now);
    else this.#drawing.empty(busy ? "Starting…" : "No turn yet", busy ? "The graph comes with the first event." : "The graph of the agent is drawn here when a turn begins.");
    this.#renderTalk();
    this.#renderCards(now);
    this.#renderSteps(now);
    /** @type {HTMLButtonElement} */ (at("send")).disabled = this.#token === "";
    at("send").hidden = busy;
    at("stop").hidden = !busy;
    /** @type {HTMLButtonElement} */ (at("stop")).disabled = this.#stopping;
    setText(at("stop"), this.#stopping ? "Stopping…" : "Stop");
    at("anew").hidden = busy || this.#said.length === 0;
    const moving = busy || phase === "paused";
    if (moving && this.#ticking === undefined) this.#ticking = setInterval(() => this.#schedule(), TICK_MS);
    if (!moving) [this.#ticking] = [void clearInterval(this.#ticking)];
  }

  /** @param {number} now */
  #renderOutcome(now) {
    const { turn, phase } = this.#last;
    const { state, words } = outcomeOf(this.#last);
    const outcome = at("outcome");
    if (outcome.dataset.state !== state || outcome.dataset.words !== words) {
      [outcome.dataset.state, outcome.dataset.words] = [state, words];
      outcome.replaceChildren(icon(state), el("span", {}, words), el("span", { "aria-hidden": "true", class: "clock" }));
    }
    const clock = phase === "paused" ? waited(turn, now) : turn.tasks.length > 0 ? workMs(turn, now) : undefined;
    setText(outcome.querySelector(".clock"), clock === undefined ? "" : `· ${duration(clock)}`);
  }

  #renderNotes() {
    const { open, failures } = this.#link;
    note("link", "again", open ? "" : `The connection broke. Attaching again behind the last event${failures > 1 ? `, try ${failures}` : ""}…`);
    const held = this.#delivery.held;
    const late = held && (held.oneBlock ? `The events came in one block, up to ${duration(held.heldMs)} after they happened.` : `Events come in blocks, up to ${duration(held.heldMs)} after they happened.`);
    const { turn, phase } = this.#last;
    const unseen = phase === "paused" && turn.interrupts.length === 0 ? "What is asked is too large to be shown here. Answer it where the conversation is open, or send another message." : "";
    note("held", "again", unseen !== "" ? unseen : this.#degraded ? "The answer came in one piece, so the graph is drawn once, from its times. The lines show the order in which nodes ran." : late ? `${late} Something between this page and the server holds the stream back (a buffering proxy).` : "");
    const error = turn.error ?? (isObject(turn.response?.error) ? turn.response.error : undefined);
    const told = this.#failure !== undefined ? wordsFor(this.#failure) : error === undefined ? "" : wordsOfError(error);
    const failure = note("failure", "error", told);
    if (failure !== undefined && phase === "lost" && this.#cursor.runId !== "") {
      const again = el("button", { type: "button", class: "quiet" }, "Attach again");
      again.addEventListener("click", () => void this.#follow(() => () => Promise.reject(new Error("It has begun already.")), this.#cursor));
      failure.append(again);
    }
  }

  #renderTalk() {
    at("welcome").hidden = this.#said.length > 0;
    const list = at("turns");
    while (list.childElementCount > this.#said.length) list.lastElementChild?.remove();
    this.#said.forEach((said, index) => {
      const row = list.children[index] ?? list.appendChild(el("li", {}, el("p", { class: "asked" }), el("div", { class: "reply" }), el("div", { class: "after" })));
      setText(row.querySelector(".asked"), said.asked);
      const reply = /** @type {HTMLElement | null} */ (row.querySelector(".reply"));
      const text = replyOf(said.turn);
      if (reply !== null && reply.dataset.length !== String(text.length)) {
        reply.dataset.length = String(text.length);
        reply.replaceChildren(...written(text));
      }
      const after = /** @type {HTMLElement | null} */ (row.querySelector(".after"));
      const over = said.turn.response !== undefined && !["busy", "paused"].includes(said.phase);
      const key = over ? `${said.turn.runId} ${said.phase}` : "";
      if (after === null || after.dataset.key === key) return;
      after.dataset.key = key;
      after.replaceChildren(...(over ? afterwards(said) : []));
    });
    if (this.#last.phase === "busy" || this.#listed !== this.#said.length) follow(at("scroll"), this.#listed !== this.#said.length);
    this.#listed = this.#said.length;
  }

  /** @param {number} now */
  #renderCards(now) {
    const { turn, phase } = this.#last;
    const open = phase === "paused" ? turn.interrupts : [];
    if (open !== this.#cards && (open.length > 0 || (this.#cards?.length ?? 0) > 0)) {
      this.#cards = open;
      at("cards").replaceChildren(...open.map((one) => card(one, (answer) => this.#answer(idOf(one), answer))));
    }
    for (const shown of at("cards").children) {
      setText(shown.querySelector(".waited"), `Waiting for you: ${duration(waited(turn, now) ?? 0)}`);
      const given = this.#answers.get(/** @type {HTMLElement} */ (shown).dataset.id ?? "");
      for (const button of shown.querySelectorAll("button[value]")) button.setAttribute("aria-pressed", String(given?.decision === /** @type {HTMLButtonElement} */ (button).value));
    }
  }

  /** @param {number} now */
  #renderSteps(now) {
    const { turn, phase } = this.#last;
    const { tasks } = turn;
    at("nothing").hidden = tasks.length > 0;
    const table = at("rows").parentElement;
    if (table !== null) table.hidden = tasks.length === 0;
    const rows = at("rows");
    while (rows.childElementCount > tasks.length) rows.lastElementChild?.remove();
    const began = Math.min(...tasks.map(({ startedAt }) => startedAt));
    const span = Math.max(1, ...tasks.map(({ startedAt, latencyMs }) => startedAt + (latencyMs ?? Math.max(0, now - startedAt)) - began));
    tasks.forEach((task, index) => {
      const row = rows.children[index] ?? rows.appendChild(stepRow(index + 1));
      const took = task.latencyMs ?? Math.max(0, now - task.startedAt);
      setText(row.querySelector(".step"), fullName(task.node));
      setText(row.querySelector(".time"), task.outcome === "skipped" ? "–" : duration(took));
      const bar = /** @type {HTMLElement | null} */ (row.querySelector("i"));
      if (bar !== null) [bar.style.left, bar.style.width] = [`${round(((task.startedAt - began) / span) * 100)}%`, `${task.outcome === "skipped" ? 0 : round((took / span) * 100)}%`];
      if (row.getAttribute("data-state") === task.outcome) return;
      row.setAttribute("data-state", task.outcome);
      row.querySelector(".state")?.replaceChildren(icon(task.outcome), WORDS[task.outcome]);
    });
    if (rows.childElementCount !== this.#stepCount) follow(at("listed"));
    this.#stepCount = rows.childElementCount;
    const facts = this.#facts(turn, phase);
    at("facts").hidden = facts.length === 0;
    const key = JSON.stringify(facts);
    if (at("facts").dataset.key === key) return;
    at("facts").dataset.key = key;
    at("facts").replaceChildren(...facts.flatMap(([label, value, mono]) => [el("dt", {}, label), el("dd", { class: mono ? "mono" : undefined }, value)]));
  }

  /** @param {Turn} turn @param {Phase} phase @returns {[string, string, boolean][]} */
  #facts(turn, phase) {
    /** @type {[string, string, boolean][]} */
    const facts = [];
    if (turn.humanWaitMs !== undefined) facts.push(["Human wait", duration(turn.humanWaitMs), false]);
    for (const usage of phase === "busy" ? [] : objectsIn(turn.response ?? {}, "usage")) {
      const spent = [["in", numberIn(usage, "input_tokens")], ["out", numberIn(usage, "output_tokens")]].filter(([, count]) => count !== undefined);
      if (spent.length > 0) facts.push(["Tokens", `${spent.map(([way, count]) => `${Number(count).toLocaleString("en")} ${way}`).join(", ")} (${textIn(usage, "model") || "model"})`, false]);
    }
    if (turn.runId !== "") facts.push(["Run", turn.runId, true]);
    if (this.#threadId !== "") facts.push(["Thread", this.#threadId, true]);
    return facts;
  }

  #legend() {
    const line = draw("svg", { class: "line", viewBox: "0 0 30 10", "aria-hidden": "true" }, draw("path", { class: "edge", d: "M9 5H29", "data-conditional": true }), draw("path", { class: "fork", d: "M1 5 5 1.6 9 5 5 8.4z" }));
    const on = draw("svg", { class: "line", viewBox: "0 0 30 10", "aria-hidden": "true" }, draw("path", { class: "edge", d: "M1 5H29", "data-taken": true }));
    const states = /** @type {(Outcome)[]} */ (["running", "ok", "skipped", "error", "interrupted", "cancelled"]);
    at("legend").replaceChildren(...states.map((state) => el("li", {}, icon(state), WORDS[state])), el("li", {}, line, "conditional"), el("li", {}, on, "taken"));
  }
}

/** Keep a pane at its end while things are added to it, unless somebody has scrolled away from there. @param {HTMLElement} pane @param {boolean} [anyway] */
function follow(pane, anyway = false) {
  if (anyway || pane.dataset.away !== "true") pane.scrollTop = pane.scrollHeight;
}

/** @param {string} id @returns {HTMLElement} */
function at(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no #${id}.`);
  return element;
}

/** Show a note with these words, or none. Returns it when its words are new. @param {string} id @param {keyof typeof ICONS} sign @param {string} words */
function note(id, sign, words) {
  const element = at(id);
  element.hidden = words === "";
  if (element.dataset.words === words) return undefined;
  element.dataset.words = words;
  element.replaceChildren(...(words === "" ? [] : [icon(sign), el("span", {}, words)]));
  return words === "" ? undefined : element;
}

/** @param {number} number */
function stepRow(number) {
  const node = el("td", {}, el("span", { class: "step" }), el("span", { class: "lane", "aria-hidden": "true" }, el("i")));
  return el("tr", {}, el("td", {}, String(number)), node, el("td", {}, el("span", { class: "state" })), el("td", { class: "time" }));
}

/**
 * An answer's Markdown in its plainest forms (quotes, lists, headings, bold, code); whatever else there is stands as it was written.
 * @param {string} text
 * @returns {Element[]}
 */
function written(text) {
  /** @type {Element[]} */
  const blocks = [];
  let fenced = false;
  let open = "";
  for (const line of text.split("\n")) {
    const [, mark = "", rest = ""] = /^(```|#{1,6} |> ?|[-*] |)(.*)$/s.exec(line) ?? [];
    if (mark === "```") [fenced, open] = [!fenced, ""];
    else {
      const look = fenced ? "fence" : mark.startsWith(">") ? "quote" : mark.startsWith("#") ? "title" : mark !== "" ? "item" : line.trim() === "" ? "" : "plain";
      const words = fenced ? [line] : inline(look === "plain" || look === "" ? line : rest);
      if (look !== "" && look === open && look !== "item" && look !== "title") blocks.at(-1)?.append("\n", ...words);
      else if (look !== "") blocks.push(el(look === "fence" ? "pre" : look === "quote" ? "blockquote" : "p", { class: look }, ...words));
      open = look;
    }
  }
  return blocks;
}

/** @param {string} line @returns {(Node | string)[]} */
function inline(line) {
  return line.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((part) => {
    if (/^\*\*.+\*\*$/.test(part)) return el("strong", {}, part.slice(2, -2));
    return /^`.+`$/.test(part) ? el("code", {}, part.slice(1, -1)) : part;
  });
}

/** What stands below an answer: how it ended, and what it rests on. @param {Said} said */
function afterwards(said) {
  const { state, words } = outcomeOf(said);
  const reason = replyOf(said.turn) === "" ? textIn(said.turn.response ?? {}, "reason") : "";
  const work = said.turn.tasks.length > 0 ? ` · ${duration(workMs(said.turn, 0))} at work` : "";
  const wait = said.turn.humanWaitMs === undefined ? "" : ` · ${duration(said.turn.humanWaitMs)} waiting for a person`;
  const ended = el("p", { class: "ended", "data-state": state }, icon(state), words + (reason === "" ? "" : `: ${reason}`) + work + wait);
  const reply = said.turn.response?.reply;
  const citations = isObject(reply) ? objectsIn(reply, "citations") : [];
  if (citations.length === 0) return [ended];
  return [ended, el("details", { class: "cited" }, el("summary", {}, citations.length === 1 ? "1 source" : `${citations.length} sources`), el("ol", {}, ...citations.map(citation)))];
}

/** @param {Json} one */
function citation(one) {
  const title = textIn(one, "title") || textIn(one, "source") || "Untitled";
  const place = textIn(one, "location");
  const safe = /^https?:\/\//i.test(place);
  const name = safe ? el("a", { href: place, rel: "noopener noreferrer", target: "_blank" }, title) : title;
  const words = textIn(one, "excerpt");
  return el("li", {}, el("p", {}, name), ...(place === "" || safe ? [] : [el("p", { class: "muted mono" }, place)]), ...(words === "" ? [] : [el("blockquote", {}, words)]));
}

/** @param {Json} interrupt */
function idOf(interrupt) {
  return textIn(interrupt, "interrupt_id") || textIn(interrupt, "id");
}

/**
 * A question as a card: what will happen, in the system's words; what the model wrote, apart from it.
 * @param {Json} asked
 * @param {(answer: Json) => void} give
 */
function card(asked, give) {
  const question = textIn(asked, "kind") === "question";
  const title = textIn(asked, "title") || textIn(asked, "message") || "The agent asks something";
  const heading = `card-${idOf(asked)}`;
  const shown = el("article", { class: "card", tabindex: "-1", "aria-labelledby": heading, "data-id": idOf(asked), "data-testid": "card" }, el("h3", { id: heading }, title));
  const facts = objectsIn(asked, "facts");
  if (facts.length > 0) shown.append(el("dl", {}, ...facts.flatMap((fact) => [el("dt", {}, textIn(fact, "label")), el("dd", {}, String(fact.value ?? ""))])));
  if (textIn(asked, "problem") !== "") shown.append(el("p", { class: "problem" }, textIn(asked, "problem")));
  const more = question ? asked.value : asked.arguments;
  if (!["null", "{}", undefined, JSON.stringify(title), JSON.stringify({ message: title })].includes(JSON.stringify(more))) {
    const words = question ? "What was asked" : "In the assistant’s words";
    shown.append(el("details", { open: question || facts.length === 0 }, el("summary", {}, words), el("pre", {}, typeof more === "string" ? more : JSON.stringify(more, null, 2))));
  }
  const field = /** @type {HTMLInputElement} */ (el("input", { class: "text", autocomplete: "off" }));
  if (question) shown.append(el("label", {}, "Your answer", field));
  const until = numberIn(asked, "answer_by");
  const deadline = until === undefined ? "" : `· open until ${new Date(until).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false })}`;
  shown.append(el("p", { class: "wait" }, icon("interrupted"), el("span", { class: "waited" }), el("span", {}, deadline)));
  /** @param {string} value @param {string} words @param {string} look */
  const button = (value, words, look) => {
    const made = el("button", { type: "button", value, class: look, "aria-pressed": "false" }, words);
    made.addEventListener("click", () => give(value === "answer" ? { decision: value, value: field.value } : { decision: value }));
    return made;
  };
  const yes = question ? button("answer", "Answer", "strong") : button("approve", textIn(asked, "confirm") || "Approve", asked.danger === true ? "strong danger" : "strong");
  const no = question ? button("cancel", "Do not answer", "quiet") : button("reject", textIn(asked, "cancel") || "Reject", "quiet");
  shown.append(el("div", { class: "actions" }, yes, no));
  return shown;
}

/** @param {Turn} turn @param {number} now */
function waited(turn, now) {
  return turn.pausedAt === undefined ? undefined : Math.max(0, now - turn.pausedAt);
}

/** @param {unknown} error */
function wordsFor(error) {
  if (error instanceof Problem) return `${error.title}. ${error.message}${error.correlationId === "" ? "" : ` (${error.code}, ${error.correlationId})`}`;
  if (error instanceof Lost) return "The connection is gone. The turn may have gone on without this page.";
  if (error instanceof TypeError) return "The server cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}

/** @param {Json} error of an event or a response */
function wordsOfError(error) {
  const marks = [textIn(error, "code"), textIn(error, "correlation_id")].filter(Boolean).join(", ");
  return `${textIn(error, "message") || textIn(error, "detail") || "The turn failed."}${marks === "" ? "" : ` (${marks})`}`;
}

/** Who a token is for, for display only: the server verifies it. @param {string} token */
function nameOf(token) {
  try {
    const part = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (char) => char.charCodeAt(0))));
    return isObject(claims) ? textIn(claims, "name") || textIn(claims, "sub") || "Signed in" : "Signed in";
  } catch {
    return "Signed in"; // Not a JWT whose inside can be read.
  }
}

function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

if (typeof document !== "undefined") void new Page().start();
