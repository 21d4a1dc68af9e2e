// @ts-check
// Written by `make contract` from middle_core/contract. Change the models there, not this file.

/** How a visit to a node ends. */
export const ENDED_OUTCOMES = /** @type {const} */ (["ok", "skipped", "error", "interrupted", "cancelled"]);

/** How a turn ends. One that paused has not ended. */
export const ENDED_STATUSES = /** @type {const} */ (["completed", "refused", "cancelled", "failed"]);

/** Every `code` that an error may carry. */
export const ERROR_CODE = /** @type {const} */ ({
  UNAUTHORIZED: "unauthorized",
  FORBIDDEN: "forbidden",
  NOT_FOUND: "not_found",
  THREAD_BUSY: "thread_busy",
  INVALID_REQUEST: "invalid_request",
  TOO_LARGE: "too_large",
  RATE_LIMITED: "rate_limited",
  INTERRUPT_UNKNOWN: "interrupt_unknown",
  MODEL_RATE_LIMITED: "model_rate_limited",
  MODEL_UNAVAILABLE: "model_unavailable",
  MODEL_CONTEXT_TOO_LONG: "model_context_too_long",
  MODEL_BAD_REQUEST: "model_bad_request",
  MODEL_STREAM_CUT: "model_stream_cut",
  BACKEND_UNAVAILABLE: "backend_unavailable",
  RUN_LOST: "run_lost",
  DRAINING: "draining",
  INTERNAL: "internal",
});
