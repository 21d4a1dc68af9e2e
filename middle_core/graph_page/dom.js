// @ts-check
/** Making and changing elements. All text goes in as text, never as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/** Shapes of 16 by 16, so that no state is told by colour alone. */
export const ICONS = {
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
/** @typedef {keyof typeof ICONS} IconName */
/** @type {ReadonlySet<string>} Icons that are areas and not lines. */
export const FILLED_ICONS = new Set(["running", "cancelled"]);

/** An attribute that is undefined or false is left out. @typedef {Record<string, string | number | boolean | undefined>} Attributes */

/** An HTML element. @param {string} name @param {Attributes} [attributes] @param {...(Node | string)} children */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element. @param {string} name @param {Attributes} [attributes] @param {...(Node | string)} children */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/**
 * @template {Element} T
 * @param {T} element
 * @param {Attributes} attributes
 * @param {readonly (Node | string)[]} children
 * @returns {T}
 */
function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : String(value));
  element.append(...children);
  return element;
}

/** @param {IconName} name */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", "data-filled": FILLED_ICONS.has(name) }, svg("path", { d: ICONS[name] }));
}

/** The element of graph.html with this id. Throws Error where there is none. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no #${id}.`);
  return element;
}

/** @param {Element | null} element @param {string} text */
export function setText(element, text) {
  if (element !== null && element.textContent !== text) element.textContent = text;
}

/** As many children as wanted: those too many are removed, those missing are made. @param {Element} list @param {number} count @param {(index: number) => Element} make */
export function resize(list, count, make) {
  while (list.childElementCount > count) list.lastElementChild?.remove();
  while (list.childElementCount < count) list.append(make(list.childElementCount));
}

/** From now on note whether somebody has scrolled a pane away from its end. @param {HTMLElement} pane */
export function watchScrolling(pane) {
  pane.addEventListener("scroll", () => (pane.dataset.away = String(pane.scrollHeight - pane.scrollTop - pane.clientHeight > 40)));
}

/** Keep a pane at its end while things are added to it, unless somebody has scrolled away from there. @param {HTMLElement} pane @param {boolean} [anyway] */
export function stayAtEnd(pane, anyway = false) {
  if (anyway || pane.dataset.away !== "true") pane.scrollTop = pane.scrollHeight;
}
