// @ts-check
/**
 * A turn of `/chat`, folded from its events (docs/chat.md): its graph, its words, its questions and its end.
 *
 * Pure. The graph's part is `run_graph.js`; this module is the adapter of `/chat` to it, and adds what only a turn has.
 */

import { ENDED_STATUSES } from "./contract.js";
import { isObject, numberIn, objectsIn, textIn, textsIn } from "./json.js";
import { endedOutcome, foldGraph, NO_GRAPH, topologyIn } from "./run_graph.js";
/** @import { Json } from "./json.js" */
/** @import { EndedStatus, GraphEvent, RunGraph } from "./run_graph.js" */

/**
 * What is known of a turn. A turn that paused and was answered is one turn, though it is several runs: its tasks are those of all.
 * runId: of the newest run. pausedAt: when the question was asked. humanWaitMs: how long its questions waited for their answers.
 * Times in milliseconds.
 * @typedef {RunGraph & {
 *   runId: string, threadId: string,
 *   text: string, messageId: string,
 *   interrupts: readonly Json[], pausedAt: number | undefined, humanWaitMs: number | undefined,
 *   error: Json | undefined, response: Json | undefined,
 * }} Turn
 */

/** @type {Turn} */
export const NEW_TURN = Object.freeze({
  ...NO_GRAPH,
  runId: "",
  threadId: "",
  text: "",
  messageId: "",
  interrupts: [],
  pausedAt: undefined,
  humanWaitMs: undefined,
  error: undefined,
  response: undefined,
});

const MAX_TEXT = 1_000_000;

/**
 * The turn after one event; the same object for an event that is not known here. An event that comes twice counts once.
 * @param {Turn} turn
 * @param {Json} event
 * @returns {Turn}
 */
export function advance(turn, event) {
  const known = { ...turn, runId: textIn(event, "run_id") || turn.runId, threadId: textIn(event, "thread_id") || turn.threadId };
  switch (event.type) {
    case "graph_topology":
      return foldGraph(known, topologyIn(event));
    case "node_started":
    case "node_completed": {
      const task = taskIn(event);
      return task === undefined ? known : foldGraph(known, task);
    }
    case "token":
      return { ...known, ...withText(turn, textIn(event, "message_id"), textIn(event, "delta")) };
    case "text_replaced":
      return { ...known, ...textOf(objectsIn(event, "parts")) };
    case "paused":
      return foldGraph({ ...known, interrupts: objectsIn(event, "interrupts"), pausedAt: numberIn(event, "at") }, { kind: "paused" });
    case "error":
      return { ...known, error: event };
    case "turn_completed":
      return completed(known, isObject(event.response) ? event.response : {}, numberIn(event, "human_wait_ms"));
    default:
      return turn;
  }
}

/** The turn that a person's answer lets go on: what it did stays, its questions are gone. @param {Turn} turn @returns {Turn} */
export function resumed(turn) {
  return { ...turn, status: "open", runId: "", text: "", interrupts: [], error: undefined, response: undefined };
}

/**
 * The turn with its response.
 * @param {Turn} turn
 * @param {Json} response
 * @param {number | undefined} humanWaitMs how long the question of this run waited
 * @returns {Turn}
 */
export function completed(turn, response, humanWaitMs) {
  const status = textIn(response, "status");
  const interrupts = objectsIn(response, "interrupts");
  const error = turn.error ?? (isObject(response.error) ? response.error : undefined);
  const wait = humanWaitMs === undefined ? turn.humanWaitMs : (turn.humanWaitMs ?? 0) + humanWaitMs;
  const whole = { ...turn, response, error, humanWaitMs: wait, interrupts: interrupts.length > 0 ? interrupts : turn.interrupts };
  return foldGraph(whole, status === "paused" ? { kind: "paused" } : { kind: "ended", status: endedStatus(status) });
}

/** The id of an open question. @param {Json} interrupt */
export function questionId(interrupt) {
  return textIn(interrupt, "interrupt_id") || textIn(interrupt, "id");
}

/** @param {string} text @returns {EndedStatus} "failed" for a status that is not known here */
function endedStatus(text) {
  return ENDED_STATUSES.find((status) => status === text) ?? "failed";
}

/**
 * A task's event, also as an entry of a response's `latency`, which has no type and is always of a task that ended.
 * @param {Json} event
 * @returns {GraphEvent | undefined} undefined without a node's name
 */
export function taskIn(event) {
  const name = textIn(event, "node");
  if (name === "") return undefined;
  const node = textsIn(event, "path").join(":") || name;
  // LangGraph gives a node that is run again after a pause the same task id, so the run's id belongs to it.
  const id = `${textIn(event, "run_id")}/${textIn(event, "task_id") || node}`;
  const facts = { id, node, name, startedAt: numberIn(event, "started_at"), at: numberIn(event, "at") };
  if (event.type === "node_started") return { kind: "node_started", ...facts };
  return { kind: "node_completed", ...facts, latencyMs: numberIn(event, "latency_ms") ?? 0, outcome: endedOutcome(textIn(event, "outcome")) };
}

/** The text that counts after another attempt has begun: what the attempt before said halfway is void. @param {readonly Json[]} parts */
function textOf(parts) {
  let said = { messageId: "", text: "" };
  for (const part of parts) said = withText(said, textIn(part, "message_id"), textIn(part, "text"));
  return said;
}

/** A new message begins a new paragraph. @param {Pick<Turn, "text" | "messageId">} said @param {string} messageId @param {string} delta */
function withText({ text, messageId: before }, messageId, delta) {
  const between = text !== "" && messageId !== before ? "\n\n" : "";
  return { messageId, text: (text + between + delta).slice(0, MAX_TEXT) };
}
