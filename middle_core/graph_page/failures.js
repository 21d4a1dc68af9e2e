// @ts-check
/** What a failure says to people. Pure. */

import { textIn } from "./json.js";
import { Problem } from "./problem.js";
import { ConnectionLost } from "./reading.js";
/** @import { Json } from "./json.js" */

/** @param {unknown} error whatever was thrown */
export function wordsFor(error) {
  if (error instanceof Problem) return `${error.title}. ${error.message}${error.correlationId === "" ? "" : ` (${error.code}, ${error.correlationId})`}`;
  if (error instanceof ConnectionLost) return "The connection is gone. The turn may have gone on without this page.";
  if (error instanceof TypeError) return "The server cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}

/** @param {Json} error of an event or a response */
export function wordsOfError(error) {
  const marks = [textIn(error, "code"), textIn(error, "correlation_id")].filter(Boolean).join(", ");
  return `${textIn(error, "message") || textIn(error, "detail") || "The turn failed."}${marks === "" ? "" : ` (${marks})`}`;
}
