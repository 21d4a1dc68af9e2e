/**
 * The event stream that goes to the browser: our headers, a first comment at once, heartbeats, and one chunk per read.
 *
 * Every hop re-emits the anti-buffering headers itself: proxies consume them (nginx) or compress without them (Next).
 */

const encoder = new TextEncoder();
const HELLO = encoder.encode(": hello\n\n");
const HEARTBEAT = encoder.encode(": keep-alive\n\n");

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

export interface Reader {
  readonly heartbeatMs: number;
  /** The browser took one chunk of `source`. */
  readonly taken: () => void;
  /** The browser went away. */
  readonly left: () => void;
}

/** `source` as a response. One chunk of it is one event. */
export function eventStream(source: ReadableStream<Uint8Array>, { heartbeatMs, taken, left }: Reader): Response {
  const reader = source.getReader();
  let timer: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(HELLO);
        timer = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(HEARTBEAT); // A reader that is behind needs none.
        }, heartbeatMs);
      },
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) {
          clearInterval(timer);
          controller.close();
          return;
        }
        taken();
        timer?.refresh();
        controller.enqueue(value);
      },
      async cancel(reason) {
        clearInterval(timer);
        left();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: HEADERS });
}
