// @ts-check
/** The lines of edges as SVG paths, each in coordinates along the flow and across it. Pure. */

/** @typedef {"right" | "down"} Direction */
/**
 * A placed node. along, across: its centre. length: its size along the flow. breadth: its size across it.
 * isLast: whether no other vertex of its layer stands between it and the arcs back.
 * @typedef {{ along: number, across: number, length: number, breadth: number, layer: number, isLast: boolean }} Box
 */
/** A layer along the flow. @typedef {{ start: number, length: number }} Layer */
/** @typedef {{ path: string, kind: "forward" | "back" | "self", labelX: number, labelY: number }} Route */

/** How far the arc of a node that leads to itself stands out. */
export const LOOP_HEIGHT = 22;
/** Radius of the corners of an arc back. */
const CORNER = 14;

/** To a tenth: more digits only make the path longer. @param {number} value */
export function round(value) {
  return Math.round(value * 10) / 10;
}

/** Writes a point of the flow as x and y. @param {Direction} direction @returns {(along: number, across: number) => string} */
function pointIn(direction) {
  return direction === "right" ? (along, across) => `${along} ${across}` : (along, across) => `${across} ${along}`;
}

/**
 * @param {string} path
 * @param {Route["kind"]} kind
 * @param {number} along of the label
 * @param {number} across of the label
 * @param {Direction} direction
 * @returns {Route}
 */
function route(path, kind, along, across, direction) {
  return direction === "right" ? { path, kind, labelX: along, labelY: across } : { path, kind, labelX: across, labelY: along };
}

/**
 * Straight through a layer, curved between two.
 * @param {Box} from
 * @param {Box} to
 * @param {readonly (Layer & { across: number })[]} passed the layers between, and where the edge passes them
 * @param {Direction} direction
 * @returns {Route}
 */
export function forwardRoute(from, to, passed, direction) {
  const point = pointIn(direction);
  const start = { along: round(from.along + from.length / 2), across: from.across };
  const points = passed.flatMap(({ start: begin, length, across }) => [{ along: round(begin), across }, { along: round(begin + length), across }]);
  points.push({ along: round(to.along - to.length / 2), across: to.across });
  let last = start;
  let path = `M${point(start.along, start.across)}`;
  points.forEach((next, index) => {
    const half = round((last.along + next.along) / 2);
    const isThroughLayer = index % 2 === 1;
    path += isThroughLayer
      ? `L${point(next.along, next.across)}`
      : `C${point(half, last.across)} ${point(half, next.across)} ${point(next.along, next.across)}`;
    last = next;
  });
  const first = points[0] ?? start;
  return route(path, "forward", round((start.along + first.along) / 2), round((start.across + first.across) / 2), direction);
}

/** An arc beside the node that it begins and ends at. @param {Box} box @param {Direction} direction @returns {Route} */
export function selfRoute({ along, across, length, breadth }, direction) {
  const point = pointIn(direction);
  const side = round(across - breadth / 2);
  const foot = Math.min(20, round(length * 0.3));
  const [wide, out] = [foot * 1.5, round(side - LOOP_HEIGHT * 1.2)];
  const path = `M${point(along + foot, side)}C${point(along + wide, out)} ${point(along - wide, out)} ${point(along - foot, side)}`;
  return route(path, "self", along, round(side - LOOP_HEIGHT + 4), direction);
}

/**
 * Out to the lane, along it, and in again. Where others stand between an end and the lane, the arc leaves or comes in at the
 * node's front or back.
 * @param {Box} from
 * @param {Box} to
 * @param {number} lane
 * @param {number} aside how far from the node's front or back
 * @param {Direction} direction
 * @returns {Route}
 */
export function backRoute(from, to, lane, aside, direction) {
  const point = pointIn(direction);
  const front = round(from.along + from.length / 2);
  const rear = round(to.along - to.length / 2);
  const out = round(from.isLast ? from.along - 12 : front + aside);
  const back = round(to.isLast ? to.along + 12 : rear - aside);
  const turn = out >= back ? -CORNER : CORNER;
  const begin = from.isLast
    ? `M${point(out, round(from.across + from.breadth / 2))}`
    : `M${point(front, from.across)}C${point(out, from.across)} ${point(out, from.across)} ${point(out, from.across + CORNER)}`;
  const end = to.isLast
    ? `L${point(back, round(to.across + to.breadth / 2))}`
    : `L${point(back, to.across + CORNER)}C${point(back, to.across)} ${point(back, to.across)} ${point(rear, to.across)}`;
  const corners = `L${point(out, lane - CORNER)}Q${point(out, lane)} ${point(out + turn, lane)}L${point(back - turn, lane)}Q${point(back, lane)} ${point(back, lane - CORNER)}`;
  return route(`${begin}${corners}${end}`, "back", round((out + back) / 2), lane, direction);
}
