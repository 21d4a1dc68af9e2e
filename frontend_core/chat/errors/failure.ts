/**
 * A failure, however it reached the page: an HTTP answer, a RUN_ERROR event, or a broken connection.
 *
 * Knows the codes of middle-core and reads them; knows no component. Words for people: `errorMessages.ts`.
 */

import { ERROR_CODE, ERROR_CODES, type ErrorCode } from "../../contract";

/** What this page finds out by itself. unavailable: something on the way answers in the server's place. */
type PageCode = "offline" | "unavailable" | "connection_lost" | "stop_failed";

export type FailureCode = ErrorCode | PageCode;

export interface Failure {
  readonly code: FailureCode;
  /** The server's own sentence for people, when it sent one. */
  readonly detail?: string | undefined;
  readonly correlationId?: string | undefined;
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number | undefined;
}

const CODE_OF_STATUS: Readonly<Record<number, FailureCode>> = {
  401: ERROR_CODE.UNAUTHORIZED,
  403: ERROR_CODE.FORBIDDEN,
  404: ERROR_CODE.NOT_FOUND,
  409: ERROR_CODE.THREAD_BUSY,
  413: ERROR_CODE.TOO_LARGE,
  422: ERROR_CODE.INVALID_REQUEST,
  429: ERROR_CODE.RATE_LIMITED,
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/** Reads problem+json, a RUN_ERROR event, or anything else that may carry `code` and words. */
function readFields(body: unknown): Omit<Failure, "code"> & { readonly code: ErrorCode | undefined } {
  const field = (...names: string[]): unknown => {
    if (typeof body !== "object" || body === null) return undefined;
    for (const name of names) {
      const value: unknown = (body as Record<string, unknown>)[name];
      if (value !== undefined && value !== null) return value;
    }
    return undefined;
  };
  const text = (value: unknown): string | undefined =>
    typeof value === "string" && value.trim() !== "" ? value : undefined;
  const retryAfter = Number(field("retry_after", "retryAfter"));
  return {
    // A code that is not known here, of a newer server, tells nothing.
    code: ERROR_CODES.find((code) => code === field("code")),
    detail: text(field("detail", "message")),
    correlationId: text(field("correlation_id", "correlationId")),
    retryAfter: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : undefined,
  };
}

/** A failure from an HTTP status and its (parsed) body. Text bodies are never shown: they may be anything. */
export function failureOfHttp(status: number, body: unknown, retryAfterHeader?: string | null): Failure {
  const fields = readFields(body);
  const header = Number(retryAfterHeader);
  return {
    ...fields,
    code: fields.code ?? CODE_OF_STATUS[status] ?? ERROR_CODE.INTERNAL,
    retryAfter: fields.retryAfter ?? (header > 0 ? header : undefined),
  };
}

/** A failure from a RUN_ERROR event. */
export function failureOfRunError(event: unknown): Failure {
  const fields = readFields(event);
  return { ...fields, code: fields.code ?? ERROR_CODE.INTERNAL };
}

/**
 * A failure from what a fetch or a stream threw.
 *
 * `@ag-ui/client` puts `status` and `payload` on the error of a refused request, CopilotKit `runtimeInfoStatus`
 * on that of its first look; everything else is a connection that broke.
 */
export function failureOfThrown(error: unknown): Failure {
  if (error instanceof HttpFailure) return error.failure;
  if (typeof error !== "object" || error === null) return { code: "offline" };
  const status = "status" in error ? error.status : "runtimeInfoStatus" in error ? error.runtimeInfoStatus : undefined;
  if (typeof status !== "number") return { code: "offline" };
  return failureOfHttp(status, "payload" in error ? error.payload : undefined);
}

const AWAY: ReadonlySet<FailureCode> = new Set<FailureCode>(["offline", "unavailable", ERROR_CODE.DRAINING, "connection_lost"]);

/** Whether the other side could not be reached, as opposed to having answered with an error. */
export function isAway(failure: Failure): boolean {
  return AWAY.has(failure.code);
}

/** A refused request, thrown by `api.ts`. */
export class HttpFailure extends Error {
  constructor(readonly failure: Failure) {
    super(failure.detail ?? failure.code);
    this.name = "HttpFailure";
  }
}
