/**
 * A failure, however it reached the page: an HTTP answer, a RUN_ERROR event, or a broken connection.
 *
 * Knows the codes of middle-core and reads them; knows no component. Words for people: `words.ts`.
 */

export interface Failure {
  /** A code of middle-core, or one of ours: `offline`, `connection_lost`. */
  readonly code: string;
  /** The server's own sentence for people, when it sent one. */
  readonly detail?: string | undefined;
  readonly correlationId?: string | undefined;
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number | undefined;
}

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "thread_busy",
  413: "too_large",
  422: "invalid_request",
  429: "rate_limited",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/** Reads problem+json, a RUN_ERROR event, or anything else that may carry `code` and words. */
function readFields(body: unknown): Omit<Failure, "code"> & { readonly code: string | undefined } {
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
    code: text(field("code")),
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
    code: fields.code ?? CODE_OF_STATUS[status] ?? "internal",
    retryAfter: fields.retryAfter ?? (header > 0 ? header : undefined),
  };
}

/** A failure from a RUN_ERROR event. */
export function failureOfRunError(event: unknown): Failure {
  const fields = readFields(event);
  return { ...fields, code: fields.code ?? "internal" };
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

const AWAY: ReadonlySet<string> = new Set(["offline", "unavailable", "draining", "connection_lost"]);

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
