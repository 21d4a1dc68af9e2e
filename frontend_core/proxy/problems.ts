/**
 * What can go wrong, in the form in which it leaves: JSON with a real status before a stream, RUN_ERROR within one.
 *
 * An upstream's text is never passed on: only problem+json with a code of ours is believed, everything else is
 * known by its status alone. Codes are middle-core's (`middle_core/errors.py`).
 */

import type { BaseEvent } from "@ag-ui/client";
import { EventType } from "@ag-ui/client";

import { ERROR_CODE, ERROR_CODES, type ErrorCode } from "../contract";

export interface Problem {
  readonly status: number;
  readonly code: ErrorCode;
  readonly title: string;
  /** For people. */
  readonly detail: string;
  readonly correlationId?: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** As much of an upstream's answer as a problem is read from. */
export interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** The request ends here, with this problem. */
export class Refused extends Error {
  constructor(readonly problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options);
    this.name = "Refused";
  }
}

const MAX_PROBLEM_BYTES = 64 * 1024;

/** middle-core cannot be reached. There is no better code for it: from here a restart and an absence look the same. */
export const AWAY: Problem = {
  status: 503,
  code: ERROR_CODE.DRAINING,
  title: "The service is away",
  detail: "The assistant cannot be reached right now. What was written is kept; try again in a moment.",
};

export const LOST: Problem = {
  status: 503,
  code: ERROR_CODE.RUN_LOST,
  title: "Answer interrupted",
  detail: "This answer can no longer be followed. Reload the conversation to see what was kept.",
};

export const INTERNAL: Problem = {
  status: 500,
  code: ERROR_CODE.INTERNAL,
  title: "Something went wrong",
  detail: "The server answered in a way that cannot be shown. Try again; if it stays, tell an operator.",
};

const BY_STATUS: Readonly<Record<number, Problem>> = {
  400: invalid(400, "The request is not valid."),
  401: { status: 401, code: ERROR_CODE.UNAUTHORIZED, title: "Not signed in", detail: "Sign in again to go on." },
  403: { status: 403, code: ERROR_CODE.FORBIDDEN, title: "Not allowed", detail: "Your role does not allow this." },
  404: { status: 404, code: ERROR_CODE.NOT_FOUND, title: "Not found", detail: "There is no such thing, or it is not yours." },
  405: invalid(405, "This method is not possible here."),
  408: AWAY,
  409: invalid(409, "The request does not fit the conversation as it is now."),
  413: { status: 413, code: ERROR_CODE.TOO_LARGE, title: "Too large", detail: "The request is larger than this server accepts." },
  415: invalid(415, "Send the body as application/json."),
  422: invalid(422, "The request is not valid."),
  429: { status: 429, code: ERROR_CODE.RATE_LIMITED, title: "Too many requests", detail: "Too many requests. Try again in a moment." },
  502: AWAY,
  503: AWAY,
  504: AWAY,
};

/** A request that the client has to change. */
export function invalid(status: number, detail: string): Problem {
  return { status, code: ERROR_CODE.INVALID_REQUEST, title: "Invalid request", detail };
}

/** The problem that a status alone tells. */
export function byStatus(status: number): Problem {
  return BY_STATUS[status] ?? INTERNAL;
}

/** The problem in an upstream's answer. Reads its body (bounded). */
export async function problemOf(response: Answer): Promise<Problem> {
  const told = fields(await boundedText(response.body), response.headers.get("content-type") ?? "");
  const base = byStatus(response.status);
  const retryAfter = seconds(told.retry_after) ?? seconds(response.headers.get("retry-after"));
  const shared = {
    ...(typeof told.correlation_id === "string" && { correlationId: told.correlation_id.slice(0, 64) }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
  const code = ERROR_CODES.find((one) => one === told.code);
  if (code === undefined) return { ...base, ...shared };
  return {
    status: response.status >= 400 ? response.status : base.status,
    code,
    title: typeof told.title === "string" ? told.title : base.title,
    detail: typeof told.detail === "string" ? told.detail : base.detail,
    ...shared,
  };
}

/** Whether the same request may succeed by itself a little later. */
export function passes(problem: Problem): boolean {
  return problem.code === ERROR_CODE.DRAINING;
}

/** As an HTTP answer. `application/json`, because @ag-ui/client parses a refusal's body under no other type. */
export function problemResponse(problem: Problem): Response {
  const headers = new Headers({ "content-type": "application/json", "cache-control": "no-store" });
  if (problem.retryAfter !== undefined) headers.set("retry-after", String(Math.ceil(problem.retryAfter)));
  if (problem.status === 401) headers.set("www-authenticate", 'Bearer error="invalid_token"');
  const { correlationId, retryAfter, ...told } = problem;
  return Response.json(
    { ...told, ...(correlationId !== undefined && { correlation_id: correlationId }), ...(retryAfter !== undefined && { retry_after: retryAfter }) },
    { status: problem.status, headers },
  );
}

/** As the end of a stream. */
export function runError(problem: Problem): BaseEvent {
  const { detail, code, correlationId, retryAfter } = problem;
  return {
    type: EventType.RUN_ERROR,
    message: detail,
    code,
    ...(correlationId !== undefined && { correlationId }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

/** What a client can be told of any error: nothing of its text. */
export function problemOfError(error: unknown): Problem {
  return error instanceof Refused ? error.problem : INTERNAL;
}

async function boundedText(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_PROBLEM_BYTES) return ""; // No problem of ours is that long. Leaving the loop cancels the body.
  }
  return text;
}

function fields(text: string, contentType: string): Record<string, unknown> {
  if (!/^application\/(?:problem\+)?json\b/i.test(contentType)) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {}; // A body that lies about its type tells nothing: the status does.
  }
}

function seconds(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? Math.min(number, 3600) : undefined;
}
