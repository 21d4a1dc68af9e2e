// @ts-check
/** How times and nodes are called for people. Pure. */

import { END, START } from "./run_graph.js";
/** @import { Outcome } from "./run_graph.js" */

/** @type {Readonly<Record<Outcome | "idle", string>>} */
export const STATE_WORDS = {
  idle: "not run",
  running: "running",
  ok: "done",
  skipped: "skipped",
  error: "failed",
  interrupted: "asks a person",
  cancelled: "stopped",
};

const MAX_NAME = 19;

/** A time for people: "12 ms", "1.2 s", "1 min 1 s", "2 h 5 min". @param {number} ms */
export function duration(ms) {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 3_600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** A node's name as it is read; the two that LangGraph gives are "Start" and "End". @param {string} name */
export function readableName(name) {
  return name === START ? "Start" : name === END ? "End" : name;
}

/** A node's name that fits into its box. @param {string} name @param {number} [max] characters */
export function shortName(name, max = MAX_NAME) {
  const told = readableName(name);
  return told.length > max ? `${told.slice(0, max - 1)}…` : told;
}

/** A node's id with all that it is inside of: "outer › inner". @param {string} id */
export function fullName(id) {
  return id.split(":").map(readableName).join(" › ");
}
