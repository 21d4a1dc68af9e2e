// @ts-check
/** Reading JSON whose shape nobody has checked: each function gives what is there in the wanted type, or nothing. */

/** @typedef {Record<string, unknown>} Json */

/** @param {unknown} value @returns {value is Json} */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text under a key; "" where there is none. @param {Json} object @param {string} key */
export function textIn(object, key) {
  const value = object[key];
  return typeof value === "string" ? value : "";
}

/** The finite number under a key. @param {Json} object @param {string} key */
export function numberIn(object, key) {
  const value = object[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The objects of the list under a key; whatever else the list holds is left out. @param {Json} object @param {string} key @returns {Json[]} */
export function objectsIn(object, key) {
  const value = object[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The texts of the list under a key. @param {Json} object @param {string} key @returns {string[]} */
export function textsIn(object, key) {
  const value = object[key];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
