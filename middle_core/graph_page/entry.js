// @ts-check
/** An entry of the conversation: a message and the turn that it began, and what can be told of both. Pure. */

import { isObject, objectsIn, textIn } from "./json.js";
import { NEW_TURN } from "./turn.js";
import { fullName } from "./words.js";
/** @import { IconName } from "./dom.js" */
/** @import { Turn } from "./turn.js" */

/**
 * idle: nothing was sent yet. busy: the turn is read. paused: a person is asked. over: the turn ended. lost: the connection is
 * gone. failed: the server did not take the request.
 * @typedef {"idle" | "busy" | "paused" | "over" | "lost" | "failed"} Phase
 */
/** @typedef {{ message: string, turn: Turn, phase: Phase }} Entry */

/** @type {Entry} */
export const NO_ENTRY = Object.freeze({ message: "", turn: NEW_TURN, phase: "idle" });

/** What the agent said: as it stands in the response, before that as the tokens came. @param {Turn} turn */
export function replyOf(turn) {
  const reply = turn.response?.reply;
  if (!isObject(reply)) return turn.text;
  return objectsIn(reply, "parts").flatMap((part) => (part.type === "text" ? [textIn(part, "text")] : [])).join("\n\n");
}

/** How an entry stands, as an icon and in words. @param {Entry} entry @returns {{ state: IconName, words: string }} */
export function outcomeOf({ turn, phase }) {
  switch (phase) {
    case "idle":
      return { state: "idle", words: "Ready" };
    case "busy":
      return { state: "running", words: busyWords(turn) };
    case "paused":
      return { state: "interrupted", words: "Waiting for your answer" };
    case "lost":
      return { state: "error", words: "Connection lost" };
    case "failed":
      return { state: "error", words: "Not accepted" };
    case "over":
      return endOf(turn);
  }
}

/** @param {Turn} turn */
function busyWords(turn) {
  const running = [...new Set(turn.tasks.filter(({ outcome }) => outcome === "running").map(({ node }) => fullName(node)))];
  if (running.length > 0) return `Running ${running.length > 2 ? `${running.length} nodes` : running.join(" and ")}`;
  return turn.runId === "" ? "Sending" : "Running";
}

/** @param {Turn} turn @returns {{ state: IconName, words: string }} */
function endOf({ status }) {
  switch (status) {
    case "completed":
      return { state: "ok", words: "Completed" };
    case "cancelled":
      return { state: "cancelled", words: "Stopped" };
    case "refused":
      return { state: "refused", words: "Refused" };
    case "paused": // Another message came instead of an answer.
      return { state: "cancelled", words: "Withdrawn" };
    case "open":
    case "failed":
      return { state: "error", words: "Failed" };
  }
}

/** How long the nodes were at work, without the time that a person was asked; in milliseconds. @param {Turn} turn @param {number} now */
export function workMs(turn, now) {
  let [sum, until] = [0, -Infinity];
  for (const { startedAt, latencyMs } of turn.tasks.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const end = startedAt + (latencyMs ?? Math.max(0, now - startedAt));
    sum += Math.max(0, end - Math.max(startedAt, until));
    until = Math.max(until, end);
  }
  return sum;
}

/** How long a person has been asked, in milliseconds; undefined before anything was asked. @param {Turn} turn @param {number} now */
export function waitedMs(turn, now) {
  return turn.pausedAt === undefined ? undefined : Math.max(0, now - turn.pausedAt);
}
