/** The words for a failure: what happened, and what the person can do about it. */

import { ERROR_CODE } from "../../contract";
import type { Failure, FailureCode } from "./failure";

export interface Words {
  readonly title: string;
  readonly text: string;
  /** Whether sending the same message again can help. */
  readonly retry: boolean;
}

/** A code without words is a type error. */
const WORDS: Readonly<Record<FailureCode, Words>> = {
  offline: {
    title: "No connection",
    text: "The server could not be reached. Your message is kept and goes out when the connection is back.",
    retry: true,
  },
  unavailable: {
    title: "The service is away",
    text: "The assistant cannot be reached right now. Your conversation is kept.",
    retry: true,
  },
  connection_lost: {
    title: "Connection lost",
    text: "The connection broke and did not come back. The answer may still be going on; try again to catch up.",
    retry: true,
  },
  stop_failed: {
    title: "Could not stop",
    text: "The server did not hear the stop. The answer may still be going on.",
    retry: false,
  },
  unauthorized: { title: "Session expired", text: "Sign in again to go on.", retry: true },
  forbidden: { title: "Not allowed", text: "Your role does not allow this.", retry: false },
  not_found: { title: "Not found", text: "This does not exist, or it is not yours.", retry: false },
  thread_busy: {
    title: "Still answering",
    text: "This conversation is still working on an earlier message. Wait for it or stop it first.",
    retry: true,
  },
  invalid_request: { title: "Not understood", text: "The server could not use this message.", retry: false },
  too_large: { title: "Too long", text: "This message is larger than the server accepts. Shorten it.", retry: false },
  rate_limited: { title: "Too many requests", text: "You are sending faster than the server allows.", retry: true },
  interrupt_unknown: { title: "Question is gone", text: "There is no such open question here.", retry: false },
  model_rate_limited: { title: "The model is busy", text: "The language model is at its limit.", retry: true },
  model_unavailable: {
    title: "The model is away",
    text: "The language model cannot be reached right now.",
    retry: true,
  },
  model_context_too_long: {
    title: "Conversation too long",
    text: "This conversation is too long for the model. Start a new chat.",
    retry: false,
  },
  model_bad_request: { title: "The model refused", text: "The language model refused the request.", retry: true },
  model_stream_cut: { title: "Answer broke off", text: "The answer broke off on its way from the model.", retry: true },
  backend_unavailable: {
    title: "Knowledge service is away",
    text: "The knowledge service cannot be reached right now.",
    retry: true,
  },
  run_lost: {
    title: "Answer interrupted",
    text: "The server restarted during this answer. What was written is kept.",
    retry: true,
  },
  draining: {
    title: "The service is away",
    text: "The assistant cannot be reached right now. Your conversation is kept.",
    retry: true,
  },
  internal: { title: "Something went wrong", text: "The answer could not be finished.", retry: true },
};

/**
 * The words for a failure: the server's own sentence where it sent one, else ours; with the seconds to wait where
 * the server named them.
 */
export function wordsOf(failure: Failure): Words {
  const words = WORDS[failure.code];
  // What the server says of an unknown fault is for whoever reads its log; the card shows the reference to it.
  if (failure.code === ERROR_CODE.INTERNAL) return words;
  if (failure.retryAfter === undefined) return { ...words, text: failure.detail ?? words.text };
  const seconds = Math.ceil(failure.retryAfter);
  return { ...words, text: `${words.text} Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.` };
}
