/**
 * Who calls, and what of their request travels on: the Authorization header byte for byte, and the trace.
 *
 * Nothing else in a request names a person: no cookie, no body field, no other header. The header is not read here;
 * middle-core verifies it.
 */

export interface Caller {
  readonly authorization: string | null;
  readonly traceparent: string | null;
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function callerOf(headers: Headers): Caller {
  const trace = headers.get("traceparent");
  return {
    authorization: headers.get("authorization"),
    traceparent: trace !== null && TRACEPARENT.test(trace) ? trace : null,
  };
}

/** The headers that tell middle-core about the caller. */
export function callerHeaders({ authorization, traceparent }: Caller): Record<string, string> {
  return { ...(authorization !== null && { authorization }), ...(traceparent !== null && { traceparent }) };
}
