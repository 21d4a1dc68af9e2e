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
  /** 0: none. */
  readonly heartbeatMs: number;
  /** The browser took one chunk of `source`. */
  readonly taken: () => void;
  /** The stream is over, however it ended: at its source's end, because the browser left, or by `end`. */
  readonly over: () => void;
  /** Ends the stream from outside, as a hop would: without a terminal event. */
  readonly end: AbortSignal;
}

/** `source` as a response. One chunk of it is one event. */
export function eventStream(source: ReadableStream<Uint8Array>, { heartbeatMs, taken, over, end }: Reader): Response {
  const reader = source.getReader();
  let timer: NodeJS.Timeout | undefined;
  const finish = () => {
    clearInterval(timer);
    over();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(HELLO);
        if (heartbeatMs > 0) {
          timer = setInterval(() => {
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(HEARTBEAT); // A reader that is behind needs none.
          }, heartbeatMs);
        }
        // Its reader then reads the end. What has broken off already cannot be cancelled, and need not be.
        end.addEventListener("abort", () => void reader.cancel().catch(() => undefined), { once: true });
      },
      async pull(controller) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          finish();
          throw error; // A source that breaks off: so does this.
        });
        if (done) {
          finish();
          controller.close();
          return;
        }
        taken();
        timer?.refresh();
        controller.enqueue(value);
      },
      async cancel(reason) {
        finish();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: HEADERS });
}
